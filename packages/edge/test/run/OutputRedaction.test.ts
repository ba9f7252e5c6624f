import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { OutputRedaction } from "../../src/run/kernel/OutputRedaction.ts"

const key = "sk-proj-A1b2C3d4E5f6G7h8"

const piece = (text: string, messageId = "m"): AdapterOutput => ({
  _tag: "Event",
  event: draft("run.message.delta", { messageId, channel: "text", text })
})
const read: AdapterOutput = { _tag: "Event", event: draft("run.file.read", { path: "a" }) }
const usage: AdapterOutput = { _tag: "Usage", usage: { turns: 1 } }

/** The emitted outputs, pieces as their texts. */
const shape = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<string> =>
  outputs.map((output) => {
    if (output._tag !== "Event") return output._tag
    return output.event.type === "run.message.delta" ? output.event.payload.text : output.event.type
  })

describe("OutputRedaction", () => {
  it("finds a secret in pieces, however it is cut", () => {
    const text = `The key is ${key}, keep it.`
    for (let at = 1; at < text.length; at++) {
      for (let to = at; to < text.length; to += 3) {
        const redaction = new OutputRedaction([])
        const parts = [text.slice(0, at), text.slice(at, to), text.slice(to)]
        const redacted = parts.flatMap((part) => redaction.redactStream([piece(part)]))
        assert.strictEqual(
          [...shape(redacted), ...shape(redaction.flush())].join(""),
          "The key is [redacted], keep it."
        )
      }
    }
  })

  it("lets wait what may go on, and nothing else", () => {
    const redaction = new OutputRedaction(["correct horse"])
    assert.deepStrictEqual(shape(redaction.redactStream([piece("Hello "), piece("world. ")])), [
      "Hello ",
      "world. "
    ])
    assert.deepStrictEqual(shape(redaction.redactStream([piece("a correct")])), ["a "])
    assert.deepStrictEqual(shape(redaction.redactStream([piece(" answer")])), ["correct answer"])
    assert.deepStrictEqual(shape(redaction.flush()), [])
  })

  it("emits held text before the next other output", () => {
    const redaction = new OutputRedaction([])
    assert.deepStrictEqual(shape(redaction.redactStream([piece("it is s"), usage])), ["it is ", "Usage"])
    assert.deepStrictEqual(shape(redaction.redactStream([read])), ["s", "run.file.read"])
  })

  it("keeps messages apart", () => {
    const redaction = new OutputRedaction([])
    const [first, second] = [key.slice(0, 10), key.slice(10)]
    const redacted = redaction.redactStream([
      piece(first, "a"),
      piece(first, "b"),
      piece(second, "a"),
      piece(second, "b")
    ])
    assert.deepStrictEqual(shape(redacted), [])
    assert.deepStrictEqual(shape(redaction.redactStream([read])), [
      "[redacted]",
      "[redacted]",
      "run.file.read"
    ])
  })

  it("does not wait with ever more messages", () => {
    const redaction = new OutputRedaction([])
    const redacted = Array.from({ length: 9 }, (_, at) =>
      redaction.redactStream([piece("sk-", `m${at}`)])
    ).flat()
    assert.strictEqual(redacted.length, 9)
    assert.isEmpty(redaction.flush())
  })

  it("looks at a piece's names, too", () => {
    const redacted = new OutputRedaction(["correct-horse"]).redactStream([
      piece("Hello.", `m-${key} correct-horse`)
    ])
    assert.notMatch(JSON.stringify(redacted), /A1b2|correct-horse/)
    assert.deepStrictEqual(shape(redacted), ["Hello."])
  })

  it("changes nothing where there is nothing to hide", () => {
    const redaction = new OutputRedaction([])
    const outputs = [piece("Hello "), read, usage, piece("")]
    assert.deepStrictEqual(redaction.redactStream(outputs), outputs)
  })
})
