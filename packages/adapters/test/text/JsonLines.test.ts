import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import * as fc from "fast-check"
import { cut } from "@corral/conformance/Replay"
import { fieldsOfHead, type JsonLine, JsonLines } from "../../src/text/JsonLines.ts"

const read = (text: string, limit?: number, size = 1_000): ReadonlyArray<JsonLine> => {
  const lines = new JsonLines(limit)
  const bytes = Buffer.from(text)
  return [...cut(bytes, Array(bytes.length).fill(size)).flatMap((chunk) => lines.push(chunk)), ...lines.end()]
}
const objects = (text: string) => read(text).flatMap((line) => (line._tag === "Object" ? [line.value] : []))

describe("JsonLines", () => {
  const controls = [
    "\u001b]0;A title\u0007",
    "\u001b]2;A {title}\u001b\\",
    "\u001b[0m",
    "\u001b[1;32m",
    "\u001b[?25l",
    "\u001b[200~",
    "\uFEFF",
    "\u001b(B",
    "\u001bc",
    "\u009b0m",
    "\u0000",
    "\b\r\t "
  ]

  it("reads an object with control sequences before or after it", () => {
    for (const control of [...controls, controls.join("")]) {
      assert.deepStrictEqual(objects(`{"first":1}\n${control}{"type":"result"}\n`), [
        { first: 1 },
        { type: "result" }
      ])
    }
    for (const control of controls.filter((sequence) => !sequence.includes("}")))
      assert.deepStrictEqual(objects(`{"type":"result"}${control}\n`), [{ type: "result" }])
  })

  it("skips a line of control sequences, and reports other text", () => {
    assert.deepStrictEqual(read(`${controls.join("")}\n`), [])
    assert.strictEqual(read("\u001b[0mWarning: {}\n")[0]?._tag, "Invalid")
    assert.strictEqual(read('\u001b]0;no end {"type":"result"}\n')[0]?._tag, "Invalid")
  })

  it("keeps control characters inside an object", () => {
    assert.deepStrictEqual(objects('{"text":"\\u001b[0m"}\n'), [{ text: "\u001b[0m" }])
  })

  it("has the first fields of a line over the limit, for any reads", () => {
    const long = JSON.stringify({
      method: "item/completed",
      id: 7,
      params: { item: { id: "call", type: "commandExecution", output: "x".repeat(1_000), exitCode: 0 } }
    })
    for (const size of [1, 7, 5_000]) {
      const [line, next] = read(`\u001b[0m${long}\n{}\n`, 200, size)
      assert(line?._tag === "Invalid")
      assert.deepStrictEqual(line.head, {
        method: "item/completed",
        id: 7,
        params: { item: { id: "call", type: "commandExecution" } }
      })
      assert.deepStrictEqual(next, { _tag: "Object", value: {} })
    }
  })
})

describe("fieldsOfHead", () => {
  it("is empty for what is not an object", () => {
    for (const text of ["", "[", "text", '"text"', "{", '{"a', '{"a"', '{"a":', '{"a":1', '{"a":tru', "{]"])
      assert.deepStrictEqual(fieldsOfHead(text), {})
  })

  /** Whether every value of the head is in the whole: equal scalars, and the beginnings of lists. */
  const isPart = (head: unknown, whole: unknown): boolean => {
    if (typeof head !== "object" || head === null) return Object.is(head, whole)
    if (typeof whole !== "object" || whole === null || Array.isArray(head) !== Array.isArray(whole))
      return false
    return Object.entries(head).every(([key, value]) => isPart(value, Reflect.get(whole, key)))
  }

  it("has only values of the whole object, wherever it is cut", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), fc.nat(), (object, at) => {
        const text = JSON.stringify(object)
        const whole: unknown = JSON.parse(text)
        assert.isTrue(isPart(fieldsOfHead(text.slice(0, at % (text.length + 1))), whole))
        assert.isTrue(isPart(fieldsOfHead(text.slice(0, -1)), whole))
        assert.deepStrictEqual(fieldsOfHead(text), whole)
      }),
      { numRuns: 300 }
    )
  })
})
