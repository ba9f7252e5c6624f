/** Folding and grams: a text that contains a word has the word's grams, and places in folded texts lead back to the text. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { tries } from "@corral/testing/time/Effort"
import {
  foldedWords,
  foldText,
  gramsOfText,
  gramsOfWord,
  searchableText,
  searchExcerptOf,
  unfoldedIndex
} from "../../src/search/Search.ts"

const Piece = Schema.Literals([
  "a",
  "B",
  "ß",
  "Σ",
  "𝐀",
  "é",
  "e\u0301",
  "ﬁ",
  "İ",
  "数",
  "据",
  "🚀",
  "\0",
  "\ud800",
  "％",
  "%",
  "_",
  " ",
  "\u3000",
  "\n",
  "¨"
])
const Text = Schema.Array(Piece).check(Schema.isMaxLength(30))

describe("search texts", () => {
  it.prop(
    "have the grams of every word that they contain",
    [Text, Text, Text],
    ([before, word, after]) => {
      const [first = ""] = foldedWords(word.join(""))
      const folded = `${foldText(searchableText(before.join("")))}${first}${foldText(searchableText(after.join("")))}`
      const grams = new Set(gramsOfText(folded))
      assert.deepStrictEqual(
        gramsOfWord(first).filter((gram) => !grams.has(gram)),
        []
      )
    },
    tries(300)
  )

  it.prop(
    "fold each character separately",
    [Text, Text],
    ([before, after]) => {
      const [head, tail] = [searchableText(before.join("")), searchableText(after.join(""))]
      assert.strictEqual(foldText(head + tail), foldText(head) + foldText(tail))
      const place = unfoldedIndex(head + tail, foldText(head).length)
      assert.strictEqual(foldText((head + tail).slice(0, place)), foldText(head))
    },
    tries(300)
  )

  it.prop(
    "give well-formed excerpts of one line",
    [Text, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))],
    ([text, times]) => {
      const excerpt = searchExcerptOf(
        searchableText("🚀".repeat(times) + text.join("") + "🚀".repeat(times)),
        "数"
      )
      assert.isTrue(excerpt.isWellFormed())
      assert.notMatch(excerpt, /[\n\0]/)
      assert.isAtMost(excerpt.length, 202)
    },
    tries(100)
  )
})
