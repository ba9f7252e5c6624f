import { assert, describe, it } from "@effect/vitest"
import type { AnyRuntimeAdapter, StreamProtocol } from "@corral/domain/run/RuntimeAdapter"
import { Effect, Stream } from "effect"
import { claudeCode } from "../src/ClaudeCode.ts"
import { cut, replay } from "@corral/conformance/Replay"
import { decodeRun } from "../src/OutputDecoder.ts"
import { load } from "@corral/testing/recordings/Fixtures"

const stdin = { open: "", answer: () => undefined, input: () => undefined, cancel: () => undefined }

describe("OutputDecoder", () => {
  it.effect("returns the outputs of the synchronous decoder, the end included", () =>
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

  it.effect("pulls a read only when the outputs before it were consumed", () =>
    Effect.gen(function* () {
      const { start, stdout } = load("claude-code", "simple-message")
      let pulled = 0
      const bytes = Stream.fromIterable([stdout, stdout, stdout], { chunkSize: 1 }).pipe(
        Stream.tap(() => Effect.sync(() => pulled++))
      )
      const [first] = yield* decodeRun(claudeCode, start)(bytes).pipe(Stream.take(1), Stream.runCollect)
      assert.isDefined(first)
      assert.strictEqual(pulled, 1)
    })
  )

  it.effect("runs the decoder of an adapter that is a Stream transformer itself", () =>
    Effect.gen(function* () {
      const protocol: StreamProtocol = {
        ...stdin,
        decode: (stdout, exit) =>
          stdout.pipe(
            Stream.map((read) => ({ _tag: "Unknown" as const, what: Buffer.from(read).toString() })),
            Stream.concat(
              Stream.map(Stream.fromEffect(exit), ({ code }) => ({
                _tag: "Unknown" as const,
                what: `${code}`
              }))
            )
          )
      }
      const adapter: AnyRuntimeAdapter = { ...claudeCode, protocol: () => protocol }
      const { start } = load("claude-code", "simple-message")
      const end = { code: 3, signal: null, stderr: "" }
      const outputs = yield* Stream.runCollect(decodeRun(adapter, start, end)(Stream.make(Buffer.from("a"))))
      assert.deepStrictEqual(Array.from(outputs), [
        { _tag: "Unknown", what: "a" },
        { _tag: "Unknown", what: "3" }
      ])
    })
  )
})
