/** Every example runs as its head says, and shows what it says. */
import { decodeEvent, isTerminalType } from "@corral/domain/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { execFileSync } from "node:child_process"
import { join } from "node:path"

const root = join(import.meta.dirname, "..")

describe("examples", () => {
  it("embed-edge runs an agent and prints its whole log", () => {
    const stdout = execFileSync(process.execPath, ["examples/embed-edge/main.ts"], {
      cwd: root,
      encoding: "utf8"
    })
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => {
        const read = Result.getOrThrow(decodeEvent(JSON.parse(line)))
        assert.strictEqual(read._tag, "KnownEvent")
        return JSON.parse(line) as { seq: number; type: string; payload: { output?: string } }
      })

    assert.deepStrictEqual(
      events.map(({ seq }) => seq),
      events.map((_, i) => i + 1)
    )
    assert.strictEqual(events[0]?.type, "run.created")
    assert.strictEqual(events.at(-1)?.type, "run.completed")
    assert.strictEqual(events.filter(({ type }) => isTerminalType(type)).length, 1)
    assert.include(events.find(({ type }) => type === "run.tool.result")?.payload.output, "main.ts")
  })
})
