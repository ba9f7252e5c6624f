import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import * as ws from "ws"
import type { Writable } from "node:stream"
import type { FrameBatch } from "../../src/stream/Frames.ts"
import { framesOf } from "../../src/stream/Frames.ts"

// `ws` exports its Receiver; its type package does not say so.
const { Receiver } = ws as unknown as { readonly Receiver: new (options: { isServer: boolean }) => Writable }

/** Messages that a client of `ws` reads from the bytes, at any chunking. */
const received = (bytes: Buffer, sizes: ReadonlyArray<number>): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const lines: Array<string> = []
    const receiver = new Receiver({ isServer: false })
    receiver.on("message", (data: Buffer, binary: boolean) =>
      lines.push(binary ? "(binary)" : data.toString("utf8"))
    )
    receiver.on("error", reject)
    receiver.on("finish", () => resolve(lines))
    let at = 0
    for (const size of sizes) receiver.write(bytes.subarray(at, (at += size)))
    receiver.end(bytes.subarray(at))
  })

const batchOf = (lines: ReadonlyArray<string>): FrameBatch => ({ lines: lines.join("\n") })

/** Around the lengths at which a frame's header grows. */
const Lengths = Schema.Literals([0, 1, 2, 124, 125, 126, 127, 1_000, 65_534, 65_535, 65_536, 65_537, 200_000])
const LineArrays = Arbitrary.map(
  Arbitrary.array(
    Arbitrary.all([Arbitrary.schema(Lengths), Arbitrary.schema(Schema.Literals(["a", "é", "字", "🐎"]))]),
    {
      minLength: 1,
      maxLength: 8
    }
  ),
  (parts) => parts.map(([length, character]) => character.repeat(length / Buffer.byteLength(character)))
)
const Reads = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 })))
)

describe("framesOf", () => {
  it.each(Lengths.literals)("carries a line of %i bytes between two others", async (length) => {
    const lines = ["{}", "x".repeat(length), "{}"]
    assert.deepStrictEqual(await received(framesOf(batchOf(lines)), []), lines)
  })

  it("writes the shortest header that RFC 6455 allows", () => {
    const headerOf = (length: number) => framesOf(batchOf(["x".repeat(length)])).length - length
    assert.deepStrictEqual([0, 125, 126, 65_535, 65_536].map(headerOf), [2, 2, 4, 4, 10])
  })

  it("is made once per batch", () => {
    const batch = batchOf(["{}"])
    assert.strictEqual(framesOf(batch), framesOf(batch))
  })

  const generated = Arbitrary.all([LineArrays, Reads])
  it.effect.prop(
    "gives a client the same lines at any reads",
    [generated],
    ([[lines, reads]]) =>
      Effect.map(
        Effect.promise(() => received(framesOf(batchOf(lines)), reads)),
        (read) => assert.deepStrictEqual(read, lines)
      ),
    { arbitrary: { runs: 40 } }
  )
})
