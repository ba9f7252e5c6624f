import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { visible, visibleLine } from "../../src/terminal/VisibleText.ts"

const anyText = fc.string({ unit: "binary" })

describe("Visible", () => {
  it("leaves nothing that a terminal would obey", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        assert.notMatch(visible(text), /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/u)
        assert.notMatch(visibleLine(text), /[\p{Cc}\p{Bidi_Control}]/u)
      })
    )
  })

  it("leaves plain text alone", () => {
    const text = "Grüße, 世界! 👋\n\tindented"
    assert.strictEqual(visible(text), text)
  })

  it("shows what it hides", () => {
    assert.strictEqual(visible("a\u001b[2Kb\u202ec\u007f\r\nd\re"), "a␛[2Kb<U+202E>c␡\nd␍e")
    assert.strictEqual(visibleLine("two\nlines\tand a tab"), "two⏎lines and a tab")
  })
})
