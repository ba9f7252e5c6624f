import { assert, describe, it } from "@effect/vitest"
import { pinsOf } from "../../src/sidebar/SessionMenu.tsx"

describe("pinsOf", () => {
  it("reads ids, and nothing from a damaged text", () => {
    assert.deepStrictEqual(pinsOf('["ses_1", 2, null, "ses_2"]').map(String), ["ses_1", "ses_2"])
    for (const text of [null, "", "{", "{}", "null", "3"])
      assert.deepStrictEqual(pinsOf(text), [], String(text))
  })
})
