import { assert, describe, it } from "@effect/vitest"
import { anyCharacter } from "@corral/testing/text/AnyCharacter"
import * as fc from "fast-check"
import { plainText } from "../../src/feishu/Feishu.ts"

const marks = fc.constantFrom(
  "<",
  ">",
  "at",
  "/",
  "@",
  "_all",
  "all",
  " ",
  "[",
  "](",
  ")",
  "b",
  "\n",
  "\0",
  "é",
  "\ud800"
)
const texts = fc.array(marks, { maxLength: 30 }).map((parts) => parts.join(""))

describe("plainText", () => {
  it("holds nothing that is read as markup, and reads as it was", () => {
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ unit: anyCharacter })), (text) => {
        const shown = plainText(text)
        assert.notMatch(shown, /<[A-Za-z/]|\]\(|(?:^|\s)@[^\u200b\s]/)
        assert.isTrue(shown.isWellFormed())
        const stored = text.toWellFormed().replaceAll(/[^\P{Cc}\t\n]/gu, "")
        assert.strictEqual(shown.replaceAll("\u200b", ""), stored.replaceAll("\u200b", ""))
      })
    )
  })
})
