import { assert, describe, it } from "@effect/vitest"
import { decodePosition, decodeSeq, encodePosition } from "../../src/store/ListPage.ts"

describe("Position", () => {
  it("decodes what was encoded", () => {
    const at = new Date(1_800_000_000_123).toISOString()
    assert.deepStrictEqual(decodePosition(encodePosition(at, "ses_01K")), { at, id: "ses_01K" })
    assert.strictEqual(decodeSeq("17", 0), 17)
  })

  it.each(["", " ", "x", "x ses_1", "2026-02-30T99:99:99.999Z ses_1", "2026-01-01T00:00:00.000Z ' OR 1"])(
    "is where nothing follows for %j",
    (text) => {
      assert.deepStrictEqual(decodePosition(text), { at: "1970-01-01T00:00:00.000Z", id: "" })
    }
  )

  it.each(["", "-1", "1e3", "9".repeat(16), " 1", "NaN"])("is the end for the number %j", (text) => {
    assert.strictEqual(decodeSeq(text, 5), 5)
  })
})
