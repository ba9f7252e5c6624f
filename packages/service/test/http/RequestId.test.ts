import { assert, describe, it } from "@effect/vitest"
import { requestIdOf } from "../../src/http/RequestIdLayer.ts"

describe("requestIdOf", () => {
  it("takes a good one and no other", () => {
    assert.strictEqual(requestIdOf({ "x-request-id": "a.B-9_" }), "a.B-9_")
    assert.strictEqual(requestIdOf({ "x-request-id": "x".repeat(128) }), "x".repeat(128))
    for (const bad of ["", "a b", "x".repeat(129), "a\r\nb", "a\n", "ü", '"a"']) {
      assert.isUndefined(requestIdOf({ "x-request-id": bad }), JSON.stringify(bad))
    }
    assert.isUndefined(requestIdOf({}))
  })
})
