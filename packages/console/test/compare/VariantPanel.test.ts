import { assert, describe, it } from "@effect/vitest"
import type { ComparedFile, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { cellsOf, variantsOf } from "../../src/compare/VariantPanel.tsx"

const ids = ["a", "b", "c", "d"]
// Only the order of the candidates counts.
const group = { candidates: ids.map((id) => ({ task: { id } })) } as unknown as TaskGroup

const compared = (versions: Readonly<Record<string, string>>): ComparedFile =>
  ({
    changes: Object.entries(versions).map(([taskId, version]) => ({
      taskId,
      runId: `run_${taskId}`,
      file: { version }
    }))
  }) as unknown as ComparedFile

describe("versions of a compared file", () => {
  it("are shared by candidates that change it in the same way", () => {
    const variants = variantsOf(compared({ a: "1", c: "2", d: "1" }), group)
    assert.deepStrictEqual<unknown>(
      variants.map(({ places, runId }) => [runId, places]),
      [
        ["run_a", [0, 3]],
        ["run_c", [2]]
      ]
    )
    assert.deepStrictEqual(
      cellsOf(variants, group).map((cell) => (cell.kind === "same" ? `= ${cell.as}` : cell.kind)),
      ["changed", "none", "changed", "= 0"]
    )
  })
})
