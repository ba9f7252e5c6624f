/** What a person sees of a text that hides something, by code points: the terminal, the console and the Edge's segments agree. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hidesInCommand, safeCommand, safeText } from "../../src/text/SafeText.ts"

const NAMED = [
  [0x00, "␀", "the end of a string"],
  [0x07, "␇", "the bell"],
  [0x08, "␈", "one step back"],
  [0x0d, "␍", "back to the beginning of the line"],
  [0x1b, "␛", "the beginning of an escape sequence"],
  [0x7f, "␡", "a deletion"],
  [0x85, "<U+0085>", "a control of Latin-1"],
  [0x9b, "<U+009B>", "the one-byte beginning of an escape sequence"],
  [0xad, "<U+00AD>", "a hyphen that is seen at the end of a line only"],
  [0x34f, "<U+034F>", "a joiner of marks"],
  [0x61c, "<U+061C>", "a mark of direction"],
  [0x115f, "<U+115F>", "a blank letter"],
  [0x180e, "<U+180E>", "a vowel separator"],
  [0x200b, "<U+200B>", "a space without width"],
  [0x200e, "<U+200E>", "a mark of direction"],
  [0x2028, "<U+2028>", "a line separator"],
  [0x2029, "<U+2029>", "a paragraph separator"],
  [0x202e, "<U+202E>", "a reversal"],
  [0x2060, "<U+2060>", "a joiner of words"],
  [0x2066, "<U+2066>", "an isolate"],
  [0x2800, "<U+2800>", "a blank of Braille"],
  [0x3164, "<U+3164>", "a blank letter"],
  [0xfeff, "<U+FEFF>", "a mark of byte order"],
  [0xffa0, "<U+FFA0>", "a blank letter"],
  [0xd800, "<U+D800>", "half a surrogate pair"],
  [0xe0041, "<U+E0041>", "a tag"]
] as const

/** Kept in text, named in a command. */
const UNCHANGED = [
  ["\u00a0", "a\u00a0b", "a<U+00A0>b"],
  ["\u3000", "说\u3000明", "说<U+3000>明"],
  ["\u200d", "👩\u200d👧", "👩<U+200D>👧"],
  ["\u200d", "❤\ufe0f\u200d🔥", "❤\ufe0f<U+200D>🔥"],
  ["\u200c", "می\u200cخواهم", "می<U+200C>خواهم"],
  ["\u200d", "क्\u200dष", "क्<U+200D>ष"],
  ["\u{e0100}", "葛\u{e0100}", "葛<U+E0100>"],
  ["\u0600", "\u0600١", "<U+0600>١"]
] as const

describe("SafeText", () => {
  it.each(NAMED)("names U+%x as %s: %s", (code, symbol) => {
    const character = String.fromCodePoint(code)
    assert.strictEqual(safeCommand(`ls a${character}b`), `ls a${symbol}b`)
    assert.strictEqual(safeText(`ls a${character}b`), `ls a${symbol}b`)
    assert.isTrue(hidesInCommand(character))
  })

  it.each(UNCHANGED)("keeps %j in %j, and names it in a command", (_, text, command) => {
    assert.strictEqual(safeText(text), text)
    assert.strictEqual(safeCommand(text), command)
  })

  it("names a joiner or a selector that joins nothing", () => {
    assert.strictEqual(safeText("pass\u200cword\u200d"), "pass<U+200C>word<U+200D>")
    assert.strictEqual(safeText("a \ufe0fb"), "a <U+FE0F>b")
    assert.strictEqual(safeText("\u200d"), "<U+200D>")
  })

  it("keeps ordinary text, an emoji, newlines and tabs", () => {
    for (const text of ["", "ls\ta\n", "Grüße, 世界! 👋", "git commit -m '\u26a0\ufe0f a'"]) {
      assert.strictEqual(safeText(text), text)
      assert.isFalse(hidesInCommand(text))
    }
  })

  it("shows no character of any text that steers or reverses, and changes its result no more", () => {
    const steers = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\p{Cs}\p{Zl}\p{Zp}]/u
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        for (const shown of [safeText(text), safeCommand(text)]) {
          assert.notMatch(shown, steers)
          assert.strictEqual(safeText(shown), shown)
        }
        // A command shows each character that a text shows.
        assert.strictEqual(safeCommand(safeText(text)), safeCommand(text))
      })
    )
  })
})
