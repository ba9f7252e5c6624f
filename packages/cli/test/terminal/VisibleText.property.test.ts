import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { escapeControls, escapeLine } from "../../src/terminal/VisibleText.ts"

const anyText = fc.string({ unit: "binary" })

describe("VisibleText", () => {
  it("removes all control sequences", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        assert.notMatch(escapeControls(text), /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/u)
        assert.notMatch(escapeLine(text), /[\p{Cc}\p{Bidi_Control}]/u)
      })
    )
  })

  it("keeps plain text unchanged", () => {
    const text = "Grüße, 世界! 👋\n\tindented"
    assert.strictEqual(escapeControls(text), text)
  })

  it("shows hidden characters as symbols", () => {
    assert.strictEqual(escapeControls("a\u001b[2Kb\u202ec\u007f\r\nd\re"), "a␛[2Kb<U+202E>c␡\nd␍e")
    assert.strictEqual(escapeLine("two\nlines\tand a tab"), "two⏎lines and a tab")
  })
})
