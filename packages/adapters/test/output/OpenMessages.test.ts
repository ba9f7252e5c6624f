import { assert, describe, it } from "@effect/vitest"
import { OpenMessages } from "../../src/output/OpenOutputs.ts"

const delta = (messageId: string, text: string) => ({ messageId, channel: "text", text }) as const

/** Ids and texts of the messages that are completed now. */
const taken = (open: OpenMessages) => open.takeAll().map(({ payload }) => [payload.messageId, payload.text])

describe("OpenMessages", () => {
  it("completes each open message once, with the text that was streamed", () => {
    const open = new OpenMessages()
    for (const [id, text] of [
      ["a", "one "],
      ["b", "two"],
      ["a", "more"]
    ] as const)
      open.streamed(delta(id, text))
    assert.deepStrictEqual(taken(open), [
      ["a", "one more"],
      ["b", "two"]
    ])
    assert.deepStrictEqual(taken(open), [])
  })

  it("starts a message again after it was completed", () => {
    const open = new OpenMessages()
    open.streamed(delta("a", "before"))
    open.takeAll()
    open.streamed(delta("a", "after"))
    assert.deepStrictEqual(taken(open), [["a", "after"]])
    open.streamed(delta("a", "half"))
    assert.strictEqual(open.completed("a", "half and rest"), " and rest")
    assert.deepStrictEqual(taken(open), [])
  })

  it("returns the part of a completed message that was not streamed", () => {
    const open = new OpenMessages()
    open.streamed(delta("a", "Hello"))
    assert.strictEqual(open.completed("a", "Hello, world"), ", world")
    open.streamed(delta("a", "Hello"))
    assert.strictEqual(open.completed("a", "Goodbye"), "")
    assert.isUndefined(open.completed("a", "Hello"))
  })
})
