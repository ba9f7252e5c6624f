/** The search for keywords against one that compares at each position. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { KeywordSearch } from "../src/KeywordSearch.ts"
import { tries } from "@corral/testing/time/Effort"

const keywords = ["abc", "abcd", "token", "a-longer-keyword", "k=1", "bca", "ab ", "0q~"]
const search = new KeywordSearch(keywords)

/** What the search promises, in the plainest way. */
const compared = (text: string): ReadonlyArray<number> => {
  const hits: Array<number> = []
  const lower = text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  for (let at = 0; at + 3 <= lower.length; at++)
    keywords.forEach((keyword, index) => {
      const here = lower.slice(at, at + keyword.length)
      if (here === keyword) hits.push(at, index)
      else if (at + here.length === lower.length && keyword.startsWith(here)) hits.push(at, ~index)
    })
  return hits
}

/** The hits at one position may be in any order. */
const sorted = (hits: ReadonlyArray<number>): ReadonlyArray<string> =>
  hits.flatMap((at, each) => (each % 2 === 0 ? [`${at} ${hits[each + 1]}`] : [])).toSorted()

const Pieces = Schema.Array(
  Schema.Literals([
    ...keywords,
    "TOKEN",
    "tok",
    "ab",
    "A",
    "é",
    "語",
    "🐎",
    "\ud83d",
    "\udc0e",
    "\u212a",
    " ",
    "\n",
    "\0"
  ])
)

describe("KeywordSearch", () => {
  it.prop(
    "finds each keyword that is there, and its beginning at the end",
    { pieces: Pieces },
    ({ pieces }) => {
      const text = pieces.join("")
      assert.deepStrictEqual(sorted(search.hits(text)), sorted(compared(text)))
    },
    tries(500)
  )

  it.each(["x", "é", "語", "🐎"])("finds keywords across the borders of windows of %s", (filling) => {
    const units = filling.length
    for (const before of [65_500, 65_519, 65_520, 65_533, 65_534, 65_535, 65_536, 131_040].map((n) =>
      Math.floor(n / units)
    )) {
      const text = `${filling.repeat(before)}a-longer-keyword${filling.repeat(70_000)}token`
      const found = [before * units, 3, text.length - 5, 2]
      assert.deepStrictEqual(search.hits(text), found)
    }
  })
})
