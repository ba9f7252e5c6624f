import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { claudeCode } from "../src/ClaudeCode.ts"
import { cut, replay } from "../src/conformance/Replay.ts"
import { normalize } from "../src/Transformer.ts"
import { load } from "@corral/testing/recordings/Fixtures"

describe("Transformer", () => {
  it.effect("a stream of bytes becomes what the protocol says, the end included", () =>
    Effect.gen(function* () {
      for (const name of ["simple-message", "cancel-sigterm"]) {
        const recording = load("claude-code", name)
        const bytes = Stream.fromIterable(cut(recording.stdout, recording.chunkSizes))
        const transform = normalize(claudeCode, recording.start, Effect.succeed(recording.exit))
        const outputs = yield* Stream.runCollect(transform(bytes))
        assert.deepStrictEqual(Array.from(outputs), replay(claudeCode, recording, [recording.stdout]))
      }
    })
  )

  it.effect("keeps the failure of the bytes", () =>
    Effect.gen(function* () {
      const broken = Stream.fail("the pipe broke" as const)
      const failure = yield* Effect.flip(
        Stream.runCollect(normalize(claudeCode, load("claude-code", "read-tool").start)(broken))
      )
      assert.strictEqual(failure, "the pipe broke")
    })
  )
})
