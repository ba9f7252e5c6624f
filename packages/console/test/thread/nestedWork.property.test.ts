/** Work of sub-agents below their calls: nothing is lost, however parts refer to each other. */
import { assert, describe, it } from "@effect/vitest"
import type { RunBlock } from "@corral/domain/run/RunBlock"
import * as fc from "fast-check"
import { nestedWork, parentCallOf, WorkFold, type WorkPart } from "../../src/thread/WorkPart.ts"
import { blocksOfRun } from "./blocks.ts"

/** Blocks of which some belong to a call, also to calls that do not exist, that come later, or to themselves. */
const nestedBlocks = fc
  .tuple(
    blocksOfRun,
    fc.array(fc.constantFrom("a", "b", "c", "none", undefined), { minLength: 40, maxLength: 40 })
  )
  .map(([blocks, parents]) =>
    blocks.map((block, at): RunBlock => {
      const parentCallId = parents[at]
      if (parentCallId === undefined || block.kind === "gap") return block
      if (block.kind === "approval") return { ...block, request: { ...block.request, parentCallId } }
      return { ...block, parentCallId } as RunBlock
    })
  )

const reachable = (
  parts: ReadonlyArray<WorkPart>,
  children: ReadonlyMap<number, ReadonlyArray<WorkPart>>
): Array<number> => parts.flatMap(({ seq }) => [seq, ...reachable(children.get(seq) ?? [], children)])

describe("nestedWork", () => {
  it("shows each part exactly once, below its call or among the agent's own", () => {
    fc.assert(
      fc.property(nestedBlocks, (blocks) => {
        const parts = new WorkFold().update(blocks)
        const { children, roots } = nestedWork(parts)
        assert.deepStrictEqual(
          reachable(roots, children).toSorted((a, b) => a - b),
          parts.map(({ seq }) => seq).toSorted((a, b) => a - b)
        )
        for (const [seq, nested] of children) {
          const call = parts.find((part) => part.seq === seq)
          for (const child of nested)
            assert.strictEqual(parentCallOf(child), call?.kind === "action" ? call.tool?.callId : "")
        }
      }),
      { numRuns: 1_000 }
    )
  })
})
