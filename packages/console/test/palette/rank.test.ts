import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { markedPieces, ranked } from "../../src/palette/paletteSections.ts"

const titles = (
  query: string,
  items: ReadonlyArray<string | { title: string; words?: string; detail?: string }>
) =>
  ranked(
    query,
    items.map((item) => (typeof item === "string" ? { title: item } : item)),
    10
  ).map(({ title }) => title)

describe("ranked", () => {
  it("prefers the beginning of the title, then of a word, then the middle, then initials", () => {
    const items = ["Reopen hours", "Photographs", "Write hours-test", "Hours of a shop", "H o", "Nothing"]
    assert.deepStrictEqual(titles("ho", items), [
      "Hours of a shop",
      "Reopen hours",
      "Write hours-test",
      "Photographs",
      "H o"
    ])
  })

  it("requires every word, in any place", () => {
    const items = [
      { title: "Fix hours", detail: "sample" },
      { title: "Fix the bug", detail: "sample" }
    ]
    assert.deepStrictEqual(titles("sample HOURS", items), ["Fix hours"])
  })

  it("finds a command by its name in the other language, after titles", () => {
    const items = [{ title: "深色主题", words: "dark theme" }, { title: "Dark mode" }]
    assert.deepStrictEqual(titles("dark", items), ["Dark mode", "深色主题"])
    assert.deepStrictEqual(titles("主题", items), ["深色主题"])
  })

  it("keeps the order of equal matches, and everything without a query", () => {
    assert.deepStrictEqual(titles("a", ["ab", "ac", "ad"]), ["ab", "ac", "ad"])
    assert.deepStrictEqual(titles("  ", ["b", "a"]), ["b", "a"])
  })

  it("bounds long queries and titles", () => {
    const long = "x".repeat(100_000)
    assert.deepStrictEqual(ranked(long, [{ title: long }], 5).length, 1)
  })
})

describe("markedPieces", () => {
  it("marks each word in any case", () => {
    assert.deepStrictEqual(markedPieces("The Hours, in hours", "hours THE"), [
      { text: "The", isMatch: true },
      { text: " ", isMatch: false },
      { text: "Hours", isMatch: true },
      { text: ", in ", isMatch: false },
      { text: "hours", isMatch: true }
    ])
  })

  it("contain the whole text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string(), (text, query) => {
        assert.strictEqual(
          markedPieces(text, query)
            .map((piece) => piece.text)
            .join(""),
          text
        )
      })
    )
  })
})
