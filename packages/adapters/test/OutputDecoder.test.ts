import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { claudeCode } from "../src/ClaudeCode.ts"
import { cut, replay } from "../src/conformance/Replay.ts"
import { decodeRun } from "../src/OutputDecoder.ts"
import { load } from "./Fixtures.ts"

describe("Transformer", () => {
  it.effect("a stream of bytes becomes what the protocol says, the end included", () =>
    Effect.gen(function* () {
      for (const name of ["simple-message", "cancel-sigterm"]) {
        const recording = load("claude-code", name)
        const bytes = Stream.fromIterable(cut(recording.stdout, recording.chunkSizes))
        const transform = decodeRun(claudeCode, recording.start, recording.exit)
        const outputs = yield* Stream.runCollect(transform(bytes))
        assert.deepStrictEqual(Array.from(outputs), replay(claudeCode, recording, [recording.stdout]))
      }
    })
  )

  it.effect("keeps the failure of the bytes", () =>
    Effect.gen(function* () {
      const broken = Stream.fail("the pipe broke" as const)
      const failure = yield* Effect.flip(
        Stream.runCollect(decodeRun(claudeCode, load("claude-code", "read-tool").start)(broken))
      )
      assert.strictEqual(failure, "the pipe broke")
    })
  )
})
