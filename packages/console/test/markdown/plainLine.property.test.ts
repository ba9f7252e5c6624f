import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { plainLine } from "../../src/markdown/plainLine.ts"

const word = fc.stringMatching(/^[a-z][a-z0-9.]{0,8}$/)
const words = fc.array(word, { minLength: 1, maxLength: 4 }).map((all) => all.join(" "))
const marks: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  (text) => `**${text}**`,
  (text) => `__${text}__`,
  (text) => `*${text}*`,
  (text) => `_${text}_`,
  (text) => `~~${text}~~`,
  (text) => `\`${text}\``,
  (text) => `[${text}](https://example.com/${text.length})`
]
const starts = ["", "# ", "### ", "- ", "* ", "> ", "12. "]

describe("plainLine", () => {
  it("removes the marks and keeps the words", () => {
    const part = fc.tuple(words, fc.constantFrom(...marks))
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.constantFrom(...starts),
        (parts, start) => {
          const line = start + parts.map(([text, mark]) => mark(text)).join(" ")
          assert.strictEqual(plainLine(line), parts.map(([text]) => text).join(" "))
        }
      )
    )
  })

  it("leaves names and arithmetic alone", () => {
    for (const line of [
      "snake_case_name and other_name",
      "2 * 3 * 4",
      "a[0](b) is a call",
      "`a*b` and `_c_`"
    ])
      assert.strictEqual(plainLine(line), line.replaceAll("`", "").replace("[0](b)", "0"))
  })

  it("takes any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void plainLine(text)))
  })
})
