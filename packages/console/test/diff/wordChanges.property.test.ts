/** Words that differ between two lines. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { anyCharacter } from "@corral/testing/text/AnyCharacter"
import { cpuMillisOf } from "@corral/testing/process/ProcessCosts"
import { type TextRange, markTokens, wordChanges } from "../../src/diff/DiffRow.tsx"
import type { Token } from "../../src/markdown/Highlighter.ts"

const line = fc.oneof(
  fc.string({ maxLength: 60, unit: anyCharacter }),
  fc
    .array(fc.constantFrom("open", "(", "9", "8", ")", " ", "const", "=", "營業", "时间", "\t"), {
      maxLength: 20
    })
    .map((words) => words.join(""))
)

const marked = (text: string, ranges: ReadonlyArray<TextRange>): ReadonlyArray<string> =>
  ranges.map(({ from, to }) => text.slice(from, to))

const unmarked = (text: string, ranges: ReadonlyArray<TextRange>): string => {
  let [rest, at] = ["", 0]
  for (const { from, to } of ranges) {
    rest += text.slice(at, from)
    at = to
  }
  return rest + text.slice(at)
}

const textOf = (tokens: ReadonlyArray<Token>): string =>
  tokens.map((token) => (typeof token === "string" ? token : textOf(token.children))).join("")

const marksOf = (tokens: ReadonlyArray<Token>): string =>
  tokens
    .map((token) =>
      typeof token === "string"
        ? ""
        : token.className === "mark"
          ? textOf(token.children)
          : marksOf(token.children)
    )
    .join("")

describe("wordChanges", () => {
  it("leaves the same text on both sides, except for white space", () => {
    fc.assert(
      fc.property(line, line, (removed, added) => {
        const { after, before } = wordChanges(removed, added)
        if (before.length === 0 && after.length === 0) return
        const [a, b] = [unmarked(removed, before), unmarked(added, after)].map((text) =>
          text.replaceAll(/\s/g, "")
        )
        assert.strictEqual(a, b)
        for (const [text, ranges] of [
          [removed, before],
          [added, after]
        ] as const) {
          let end = -1
          for (const { from, to } of ranges) {
            assert.isAbove(from, end)
            assert.isAbove(to, from)
            end = to
          }
          assert.isAtMost(end, text.length)
        }
      })
    )
  })

  it("marks words, signs and single Chinese characters", () => {
    const changes = (removed: string, added: string) => {
      const { after, before } = wordChanges(removed, added)
      return [marked(removed, before), marked(added, after)]
    }
    assert.deepStrictEqual(changes("open(9) // Sunday", "open(8) // Sunday"), [["9"], ["8"]])
    assert.deepStrictEqual(changes("const hours = 9", "const hours = 9 + offset"), [[], [" + offset"]])
    assert.deepStrictEqual(changes("周日九点开门", "周日八点开门"), [["九"], ["八"]])
    assert.deepStrictEqual(changes("a b c d e", "a x y d e"), [["b c"], ["x y"]])
  })

  it("marks nothing where the lines are equal or share too little", () => {
    for (const [removed, added] of [
      ["same", "same"],
      ["import fs from 'node:fs'", "return { total, count }"],
      ["", "a new line"]
    ] as const)
      assert.deepStrictEqual(wordChanges(removed, added), { before: [], after: [] })
  })

  it("handles the longest lines quickly", () => {
    for (const [removed, added] of [
      ["a b ".repeat(500), "b a ".repeat(500)],
      [`x${"()".repeat(999)}`, `y${")(".repeat(999)}`],
      ["字".repeat(2_000), "词字".repeat(1_000)]
    ] as const) {
      const millis = cpuMillisOf(() => {
        for (let nth = 0; nth < 20; nth++) wordChanges(removed, added)
      })
      assert.isBelow(millis, 1_000)
    }
  })
})

describe("markTokens", () => {
  const token: fc.Arbitrary<Token> = fc.letrec<{ token: Token }>((tie) => ({
    token: fc.oneof(
      { maxDepth: 3 },
      fc.string({ maxLength: 8 }),
      fc.record({ className: fc.constant("hljs-string"), children: fc.array(tie("token"), { maxLength: 3 }) })
    )
  })).token
  const ranges = fc
    .uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 8 })
    .map((numbers) => numbers.toSorted((a, b) => a - b))
    .map((numbers) =>
      numbers.flatMap((from, at) => {
        const to = numbers[at + 1]
        return at % 2 === 0 && to !== undefined ? [{ from, to }] : []
      })
    )

  it("keeps the text and marks exactly the ranges", () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 5 }), ranges, (tokens, wanted) => {
        const result = markTokens(tokens, wanted, "mark")
        const text = textOf(tokens)
        assert.strictEqual(textOf(result), text)
        assert.strictEqual(marksOf(result), marked(text, wanted).join(""))
      })
    )
  })
})
