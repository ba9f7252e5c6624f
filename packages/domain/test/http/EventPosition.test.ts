import { assert, describe, it } from "@effect/vitest"
import { beyondEnd, startAfter } from "../../src/http/EventStream.ts"
import { SchemaValidationFailed } from "../../src/errors/Failures.ts"

/** The issue of a refused position. */
const issueOf = (start: ReturnType<typeof startAfter>) => {
  assert.instanceOf(start, SchemaValidationFailed)
  return start.details?.issues[0]
}

describe("startAfter", () => {
  it("starts at the beginning without a position", () => {
    assert.strictEqual(startAfter(undefined, undefined, 5), 0)
    assert.strictEqual(startAfter(undefined, "", 5), 0)
  })

  it("prefers Last-Event-ID to the query", () => {
    assert.strictEqual(startAfter(2, "4", 5), 4)
    assert.strictEqual(startAfter(2, "", 5), 2)
  })

  it("accepts the last event of the run, and refuses the position after it", () => {
    assert.strictEqual(startAfter(5, undefined, 5), 5)
    assert.strictEqual(startAfter(undefined, "5", 5), 5)
    assert.deepStrictEqual(issueOf(startAfter(6, undefined, 5)), beyondEnd("after"))
    assert.deepStrictEqual(issueOf(startAfter(undefined, "6", 5)), beyondEnd("last-event-id"))
    assert.deepStrictEqual(issueOf(startAfter(1, undefined, 0)), beyondEnd("after"))
  })
})
