import { assert, describe, it } from "@effect/vitest"
import type { AnyProtocol, OutputDecoder } from "@corral/domain/run/RuntimeAdapter"
import { Effect, Fiber, Stream } from "effect"
import { OutputPosition } from "../../src/journal/RunJournal.ts"
import { StdoutReader, decodeOutput } from "../../src/run/actor/RuntimeOutput.ts"
import type { RunMessage } from "../../src/run/kernel/RunMessage.ts"

const stdin = { open: "", answer: () => undefined, input: () => undefined, cancel: () => undefined }
const echo: AnyProtocol = {
  ...stdin,
  step: (read) => (read.length === 0 ? [] : [{ _tag: "Unknown", what: Buffer.from(read).toString() }]),
  end: ({ code }) => [{ _tag: "Unknown", what: `exit ${code}` }]
}
const streaming = (decode: OutputDecoder): AnyProtocol => ({ ...stdin, decode })

/** A running decoder: what it posted, and its process's pipe. */
const decoding = Effect.fnUntraced(function* (protocol: AnyProtocol, heldBytes?: number) {
  const posted: Array<RunMessage> = []
  const pipe = {
    isPaused: false,
    pause: () => void (pipe.isPaused = true),
    resume: () => void (pipe.isPaused = false)
  }
  const stdout = new StdoutReader()
  stdout.child = pipe
  const fiber = yield* Effect.forkChild(
    decodeOutput({
      protocol,
      stdout,
      exit: Effect.succeed({ code: 0, signal: null, stderr: "" }),
      post: (message) => void posted.push(message),
      position: new OutputPosition(),
      heldBytes
    }),
    { startImmediately: true }
  )
  const texts = () =>
    posted.flatMap((message) =>
      message._tag === "Decoded"
        ? message.outputs.map((output) => (output._tag === "Unknown" ? output.what : output._tag))
        : [message._tag]
    )
  const push = (text: string) => stdout.push(Buffer.from(text))
  let processed = 0
  const processAll = (isHeld = false) => {
    const messages = posted.slice(processed)
    processed = posted.length
    const weight = messages.reduce((sum, each) => sum + (each._tag === "Decoded" ? each.weight : 0), 0)
    stdout.processed(weight, isHeld)
  }
  return { end: Fiber.join(fiber), pipe, posted, processAll, push, stdout, texts }
})

describe("decodeOutput", () => {
  it.effect("posts a read's outputs within the read, and the end after stdout's end", () =>
    Effect.gen(function* () {
      const { end, processAll, push, stdout, texts } = yield* decoding(echo)
      push("a")
      assert.deepStrictEqual(texts(), ["a"])
      processAll()
      push("b")
      assert.deepStrictEqual(texts(), ["a", "b"])
      stdout.end()
      yield* end
      assert.deepStrictEqual(texts(), ["a", "b", "exit 0", "DecodingEnded"])
    })
  )

  it.effect("announces once that the next Edge can no longer continue the run", () =>
    Effect.gen(function* () {
      const { end, processAll, push, stdout, texts } = yield* decoding(echo, 3)
      for (const read of ["a", "bc", "d", "ef"]) {
        push(read)
        processAll()
      }
      stdout.end()
      yield* end
      assert.deepStrictEqual(texts(), ["a", "bc", "Announced", "d", "ef", "exit 0", "DecodingEnded"])
    })
  )

  it.effect("decodes the reads that arrive while outputs are processed together, directly afterwards", () =>
    Effect.gen(function* () {
      const { end, posted, processAll, push, stdout, texts } = yield* decoding(echo)
      push("a")
      push("b")
      push("c")
      assert.deepStrictEqual(texts(), ["a"])
      processAll()
      assert.deepStrictEqual(texts(), ["a", "b", "c"])
      assert.strictEqual(posted.length, 2)
      stdout.end()
      yield* end
    })
  )

  it.effect("pauses the pipe and the decoder while outputs wait to be processed", () =>
    Effect.gen(function* () {
      const { end, pipe, posted, push, stdout, texts } = yield* decoding(echo)
      const half = "x".repeat(150_000)
      push(half)
      push(half)
      push("last")
      assert.isTrue(pipe.isPaused)
      assert.strictEqual(posted.length, 1)
      for (let at = 0; at < posted.length; at++) {
        const message = posted[at]
        if (message?._tag === "Decoded") stdout.processed(message.weight, false)
        yield* Effect.yieldNow
      }
      assert.deepStrictEqual(texts(), [half, half, "last"])
      assert.isFalse(pipe.isPaused)
      stdout.end()
      yield* end
    })
  )

  it.effect("reads on without outputs, however long a line is", () =>
    Effect.gen(function* () {
      const { end, pipe, push, stdout, texts } = yield* decoding({ ...echo, step: () => [] })
      for (let read = 0; read < 40; read++) push("x".repeat(65_536))
      assert.isFalse(pipe.isPaused)
      stdout.end()
      yield* end
      assert.deepStrictEqual(texts(), ["exit 0", "DecodingEnded"])
    })
  )

  it.effect("holds output back while the run does not accept it", () =>
    Effect.gen(function* () {
      const { end, pipe, processAll, push, stdout, texts } = yield* decoding(echo)
      push("a")
      processAll(true)
      push("b")
      push("c")
      assert.isTrue(pipe.isPaused)
      assert.deepStrictEqual(texts(), ["a"])
      processAll()
      yield* Effect.yieldNow
      assert.deepStrictEqual(texts(), ["a", "b", "c"])
      assert.isFalse(pipe.isPaused)
      stdout.end()
      yield* end
    })
  )

  it.effect("posts the failure of a decoder and discards the rest of the output", () =>
    Effect.gen(function* () {
      const failing = streaming((stdout) =>
        Stream.flatMap(stdout, () => Stream.fail({ _tag: "DecodeFailure" as const, message: "not JSON" }))
      )
      const { end, posted, push, stdout } = yield* decoding(failing)
      push("a")
      push("b")
      stdout.end()
      yield* end
      assert.deepStrictEqual(posted, [
        { _tag: "DecodeFailed", message: "not JSON" },
        { _tag: "DecodingEnded" }
      ])
    })
  )

  it.effect("posts a failure where a decoder throws", () =>
    Effect.gen(function* () {
      const throwing: AnyProtocol = {
        ...echo,
        step: () => {
          throw new Error("secret")
        }
      }
      const { end, posted, push, stdout } = yield* decoding(throwing)
      push("a")
      stdout.end()
      yield* end
      assert.deepStrictEqual(posted, [
        { _tag: "DecodeFailed", message: "The adapter could not decode the runtime's output." },
        { _tag: "DecodingEnded" }
      ])
    })
  )

  it.effect("waits for the end of stdout where a decoder completes before it", () =>
    Effect.gen(function* () {
      const { end, posted, push, stdout } = yield* decoding(streaming(() => Stream.empty))
      push("a")
      yield* Effect.yieldNow
      assert.deepStrictEqual(posted, [])
      stdout.end()
      yield* end
      assert.deepStrictEqual(posted, [{ _tag: "DecodingEnded" }])
    })
  )

  it.effect("releases the memory of a large read after a synchronous step", () =>
    Effect.gen(function* () {
      const { end, processAll, stdout, texts } = yield* decoding(echo)
      const read = new Uint8Array(65_536).fill(97)
      stdout.push(read)
      assert.strictEqual(read.length, 0)
      assert.deepStrictEqual(texts(), ["a".repeat(65_536)])
      processAll()
      stdout.end()
      yield* end
    })
  )
})
