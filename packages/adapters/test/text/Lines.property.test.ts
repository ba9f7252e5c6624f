import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { Schema } from "effect"
import { cut, randomNumbers, randomSizes } from "@corral/conformance/Replay"
import { HEAD_BYTES, Lines, type Line } from "../../src/text/Lines.ts"
import { tries } from "@corral/testing/time/Effort"

const read = (reads: ReadonlyArray<Uint8Array>, limit?: number): ReadonlyArray<Line> => {
  const lines = new Lines(limit)
  return [...reads.flatMap((bytes) => lines.push(bytes)), ...lines.end()]
}

/** Bytes that are hard on a reader of lines: newlines, parts of characters, zero bytes, and some text. */
const hardBytes = (seed: number): Buffer => {
  const random = randomNumbers(seed)
  const parts = ["\n", "\r\n", "\uFEFF", "é", "字", "🐎", "\0", "{}", "\r", "x".repeat(40)].map((text) =>
    Buffer.from(text)
  )
  parts.push(
    Buffer.from([0xff]),
    Buffer.from([0xf0, 0x9f]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xc3])
  )
  return Buffer.concat(
    Array.from({ length: random(60) }, () => parts[random(parts.length)] ?? Buffer.alloc(0))
  )
}

describe("Lines", () => {
  it("cuts at newlines, and tells the rest as the tail", () => {
    assert.deepStrictEqual(read([Buffer.from("one\r\ntwo\n\nthree")]), [
      { _tag: "Line", text: "one", bytes: 4 },
      { _tag: "Line", text: "two", bytes: 3 },
      { _tag: "Line", text: "", bytes: 0 },
      { _tag: "Tail", text: "three", bytes: 5 }
    ])
  })

  it("keeps a character that two reads share", () => {
    const bytes = Buffer.from("a🐎b\n")
    for (let at = 1; at < bytes.length; at++) {
      assert.deepStrictEqual(read([bytes.subarray(0, at), bytes.subarray(at)]), [
        { _tag: "Line", text: "a🐎b", bytes: 6 }
      ])
    }
  })

  it("drops a byte-order mark at the start, and nowhere else", () => {
    const texts = read([Buffer.from("\uFEFF{}\n\uFEFF{}\n")]).map((line) =>
      line._tag === "Line" ? line.text : ""
    )
    assert.deepStrictEqual(texts, ["{}", "\uFEFF{}"])
  })

  it("keeps the head of a line over the limit, and reads the next line", () => {
    const bytes = Buffer.from("12345\n123456\nok\n1234567")
    const expected: ReadonlyArray<Line> = [
      { _tag: "Line", text: "12345", bytes: 5 },
      { _tag: "TooLong", head: "12345", bytes: 6 },
      { _tag: "Line", text: "ok", bytes: 2 },
      { _tag: "TooLong", head: "12345", bytes: 7 }
    ]
    for (let size = 1; size <= bytes.length; size++) {
      assert.deepStrictEqual(read(cut(bytes, Array(bytes.length).fill(size)), 5), expected)
    }
  })

  it("does not keep the bytes that it was given: a reader may use its buffer again", () => {
    const buffer = Buffer.from("first half")
    const lines = new Lines()
    lines.push(buffer)
    buffer.fill(0)
    assert.deepStrictEqual(lines.push(Buffer.from("!\n")), [{ _tag: "Line", text: "first half!", bytes: 11 }])
  })

  it("reads a line of 100 MB in linear time at any size of reads", () => {
    const size = 100 * 1024 * 1024
    const piece = Buffer.alloc(64 * 1024, "x")
    const stored = new Lines(size)
    const dropped = new Lines()
    for (let at = 0; at < size; at += piece.length) {
      assert.isEmpty(stored.push(piece))
      assert.isEmpty(dropped.push(piece))
    }
    const newline = Buffer.from("\n")
    const line = stored.push(newline)[0]
    assert.strictEqual(line?._tag === "Line" ? line.text.length : 0, size)
    const head = "x".repeat(HEAD_BYTES)
    assert.deepStrictEqual(dropped.push(newline), [{ _tag: "TooLong", head, bytes: size }])
  })

  it("reads 4 MB that come one byte at a time", () => {
    const size = 4 * 1024 * 1024
    const lines = new Lines()
    const byte = Buffer.from("x")
    for (let at = 0; at < size; at++) lines.push(byte)
    assert.deepStrictEqual(
      lines.push(Buffer.from("\n")).map(({ bytes }) => bytes),
      [size]
    )
  })

  it.prop(
    "gives the same lines for every chunking",
    [Schema.Int, Schema.Int],
    ([content, reading]) => {
      const bytes = hardBytes(content)
      const limit = 1 + (Math.abs(content) % 60)
      const whole = read([bytes], limit)
      assert.deepStrictEqual(read(cut(bytes, Array(bytes.length).fill(1)), limit), whole)
      assert.deepStrictEqual(
        read(
          cut(
            bytes,
            randomSizes(bytes, reading).map((size) => 1 + (size % 9))
          ),
          limit
        ),
        whole
      )
    },
    tries(50)
  )

  it.prop(
    "loses no byte: every line and its end are counted",
    [Schema.Int],
    ([content]) => {
      const bytes = hardBytes(content)
      const lines = read([bytes], 30)
      const ends = lines.length - (bytes.length > 0 && bytes.at(-1) !== 10 ? 1 : 0)
      assert.strictEqual(lines.reduce((sum, line) => sum + line.bytes, 0) + ends, bytes.length)
    },
    tries(50)
  )
})
