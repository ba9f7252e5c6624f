import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { seatbeltString } from "../../src/confinement/Seatbelt.ts"

/** Reads one string at the start, as a reader of Scheme: what it stands for, and what follows it. */
const readString = (source: string): readonly [string, string] => {
  assert.strictEqual(source[0], '"')
  let text = ""
  for (let at = 1; at < source.length; at++) {
    const character = source[at] ?? ""
    if (character === '"') return [text, source.slice(at + 1)]
    if (character === "\\") {
      const escaped = source[++at] ?? ""
      // Other letters after a backslash have meanings that differ between readers.
      assert.oneOf(escaped, ["\\", '"'])
      text += escaped
    } else text += character
  }
  throw new Error("the string does not end")
}

const path = fc
  .array(fc.oneof(fc.constantFrom('"', "\\", ")", "(", ";", "#", " ", "n", "x41", "é", "文"), fc.string()))
  .map((parts) => parts.join(""))

describe("seatbeltString", () => {
  it("stands for exactly the text, in every place of a profile", () => {
    fc.assert(
      fc.property(path, (text) => {
        fc.pre(![...text].some((character) => character < " " || character === "\u007f"))
        const [value, rest] = readString(`${seatbeltString(text)}) (deny default)`)
        assert.strictEqual(value, text)
        assert.strictEqual(rest, ") (deny default)")
      })
    )
  })

  it("refuses control characters", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 31 }), fc.string(), (code, text) => {
        assert.throws(() => seatbeltString(`${text}${String.fromCharCode(code)}`), /control character/)
      })
    )
    assert.throws(() => seatbeltString("\u007f"), /control character/)
  })
})
