import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { payloadSummary } from "../../src/review/LogTab.tsx"

describe("payloadSummary", () => {
  it("begins with what tells an event from its neighbours", () => {
    assert.strictEqual(
      payloadSummary({ v: 1, messageId: "message-2", channel: "text", text: "I'll look" }),
      "I'll look · channel: text"
    )
    assert.strictEqual(
      payloadSummary({ v: 1, callId: "call-1", tool: "read", label: "Read a.js", input: { path: "a.js" } }),
      'Read a.js · tool: read · input: {"path":"a.js"}'
    )
    assert.strictEqual(payloadSummary({ v: 1, usage: { turns: 2 } }), 'usage: {"turns":2}')
    assert.strictEqual(payloadSummary({ v: 1, runtimeSessionId: "one" }), "")
  })

  it("is short for any payload", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        assert.isAtMost(payloadSummary({ ...payload, text: "x".repeat(100_000) }).length, 6 * 400)
      })
    )
  })
})
