import { claudeCode } from "@corral/adapters/ClaudeCode"
import { WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { readFileSync } from "node:fs"
import { normalizeRecording } from "../../src/run/NormalizedOutput.ts"

const fixture = (name: string) =>
  readFileSync(new URL(`../../../adapters/test/fixtures/claude-code/${name}/stdout.jsonl`, import.meta.url))

interface Line {
  readonly seq: number
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
}

const normalized = (bytes: Uint8Array, chunkSize: number) => {
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkSize) }, (_, i) =>
    bytes.subarray(i * chunkSize, (i + 1) * chunkSize)
  )
  return Stream.fromIterable(chunks).pipe(
    normalizeRecording({
      adapter: claudeCode,
      start: { prompt: "Do it.", mode: "ask", workspacePath: "/workspace" },
      workspace: WorkspaceId.make("recorded"),
      exit: { code: 0, signal: null, stderr: "" }
    }),
    Stream.map((line): Line => JSON.parse(line)),
    Stream.runCollect
  )
}

describe("normalizeRecording", () => {
  it.effect("returns the log of a recorded run, from created to the terminal event", () =>
    Effect.gen(function* () {
      const lines = yield* normalized(fixture("shell-command"), 4_096)
      assert.deepStrictEqual(
        lines.map(({ seq }) => seq),
        lines.map((_, i) => i + 1)
      )
      assert.deepStrictEqual(lines[0], {
        seq: 1,
        type: "run.created",
        payload: { v: 1, workspace: "recorded", mode: "ask", input: { text: "Do it." } }
      })
      const types = lines.map(({ type }) => type).filter((type) => type !== "run.message.delta")
      assert.deepStrictEqual(types, [
        "run.created",
        "run.started",
        "run.message.completed",
        "run.tool.call",
        "run.tool.result",
        "run.message.completed",
        "run.completed"
      ])
      assert.isTrue(lines.every(({ payload }) => payload["v"] === 1))
    })
  )

  it.effect("numbers approvals and resolves all of them", () =>
    Effect.gen(function* () {
      const lines = yield* normalized(fixture("approval-allowed"), 4_096)
      const approvals = lines.filter(({ type }) => type.startsWith("run.approval."))
      assert.deepStrictEqual(
        approvals.map(({ type, payload }) => [type, payload["approvalId"]]),
        [
          ["run.approval.requested", "apr_00000000010000000000000000"],
          ["run.approval.resolved", "apr_00000000010000000000000000"]
        ]
      )
    })
  )

  it.effect("returns the same log for any chunking", () =>
    Effect.gen(function* () {
      const bytes = fixture("approval-allowed")
      assert.deepStrictEqual(yield* normalized(bytes, 7), yield* normalized(bytes, bytes.length))
    })
  )

  it.effect("ends an empty or invalid output with a failed run", () =>
    Effect.gen(function* () {
      for (const text of ["", "not json\n\u0000{\n"]) {
        const lines = yield* normalized(Buffer.from(text), 5)
        assert.strictEqual(lines.at(-1)?.type, "run.failed")
      }
    })
  )

  it.effect("redacts secrets", () =>
    Effect.gen(function* () {
      const key = "sk-proj-A1b2C3d4E5f6G7h8"
      const recorded = fixture("shell-command")
        .toString("utf8")
        .replaceAll("hello-from-shell", key)
        .replaceAll("printed hell", `printed ${key.slice(0, 12)}`)
        .replaceAll("o-from-shell", key.slice(12))
      const lines = yield* normalized(Buffer.from(recorded), 4_096)
      const text = JSON.stringify(lines)
      assert.include(text, "[redacted]")
      assert.notMatch(text, /A1b2|C3d4E5f6/)
    })
  )
})
