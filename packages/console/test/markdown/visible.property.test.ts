/** Text of programs as people may see it: nothing that steers, nothing that hides. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ansiPieces } from "../../src/markdown/ansi.ts"
import { isSafeToParse, splitMarkdown } from "../../src/markdown/Markdown.tsx"
import { visibleLine, visibleText } from "../../src/markdown/visible.ts"

const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(
        "\u001b[31m",
        "\u001b[38;2;1;2;3m",
        "\u001b[2J\u001b[H",
        "\u001b]8;;https://evil.example\u0007here\u001b]8;;\u0007",
        "\u001b]0;title",
        "\u001b",
        "\u202e",
        "\u2066",
        "\u200f",
        "\ud800",
        "\udfff",
        "\r",
        "\r\n",
        "\0",
        "\u009b31m",
        "\u{e0041}",
        "<script>"
      )
    ),
    { maxLength: 30 }
  )
  .map((parts) => parts.join(""))

const isHonest = (text: string): boolean =>
  text.isWellFormed() && !/(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u.test(text)

describe("visible text", () => {
  it("has no control, directional or incomplete characters, and is idempotent", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        assert.isTrue(isHonest(visibleText(text)))
        assert.strictEqual(visibleText(visibleText(text)), visibleText(text))
        assert.isTrue(isHonest(visibleLine(text, 30)))
        assert.notInclude(visibleLine(text, 30), "\n")
      })
    )
  })

  it("names invisible characters", () => {
    assert.strictEqual(visibleText("a\u202eb\0c\u001b[31md\u001b[0m\r\ne\ud800"), "a<U+202E>b␀cd\ne\ufffd")
    assert.strictEqual(visibleText("\u001b]8;;https://evil.example\u0007here\u001b]8;;\u0007"), "here")
  })

  it("keeps plain text and emoji unchanged", () => {
    for (const text of ["", "plain\ttext\n", "naïve 中文 👩‍👩‍👧", "# x\n\n- y"])
      assert.strictEqual(visibleText(text), text)
  })

  it("converts colours to classes and keeps all text", () => {
    assert.deepStrictEqual(ansiPieces("a\u001b[1;31mred\u001b[0m\u001b[38;5;200mb\u001b[Kc"), [
      { text: "a", className: "" },
      { text: "red", className: "ansi-red ansi-bold" },
      { text: "b", className: "" },
      { text: "c", className: "" }
    ])
    fc.assert(
      fc.property(hostile, (text) => {
        const once = text.replaceAll("\r", "").toWellFormed()
        const pieces = ansiPieces(once)
        assert.strictEqual(pieces.map((piece) => piece.text).join(""), visibleText(once))
        for (const { className } of pieces) assert.match(className, /^[a-z -]*$/)
      })
    )
  })

  it("keeps the text around sequences that are not colours", () => {
    const texts = (text: string) => ansiPieces(text).map((piece) => `${piece.className}:${piece.text}`)
    assert.deepStrictEqual(texts("\u001b[2Khello memory"), [":hello memory"])
    assert.deepStrictEqual(texts("a\u001b]8;;https://x\u0007b\u001b(B\u001b[31mred"), [
      ":a",
      ":b",
      "ansi-red:red"
    ])
    assert.deepStrictEqual(texts("\u001b[31;0mplain\u001b[38:2::1:2:3mx\u001b[3"), [":plain", ":x"])
  })

  it("takes time in proportion to the length of a text", () => {
    const cpuOf = (work: () => unknown): number => {
      const begin = process.threadCpuUsage()
      work()
      return process.threadCpuUsage(begin).user
    }
    const longest = 32_768
    const units = ["x", "1;", "\u001b[", "\u001b]", "\u001b[1m", "\u202e"]
    for (const [convert, texts] of [
      [visibleText, units],
      [ansiPieces, units],
      [ansiPieces, units.map((unit) => `\u001b[${unit}`)]
    ] as const)
      for (const unit of texts) {
        // Four texts of a quarter against one whole text: a quadratic conversion takes four times as long for the whole.
        const quarter = unit.repeat(longest / 4)
        const whole = unit.repeat(longest)
        convert(quarter)
        const parts = Math.min(
          ...[1, 2, 3].map(() => cpuOf(() => [1, 2, 3, 4].forEach(() => convert(quarter))))
        )
        const once = Math.min(...[1, 2, 3].map(() => cpuOf(() => convert(whole))))
        assert.isBelow(once, 2.5 * parts + 10_000, JSON.stringify(unit))
      }
  })
})

describe("segments", () => {
  it("keep all text, and stay unchanged while the text grows", () => {
    const lines = fc.array(fc.constantFrom("", "word", "```", "~~~", "- item", "    code", "word word"), {
      maxLength: 60
    })
    fc.assert(
      fc.property(lines, fc.nat({ max: 60 }), (all, some) => {
        const whole = `${all.join("\n")}\n`
        const part = `${all.slice(0, some).join("\n")}\n`
        const pieces = splitMarkdown(whole, 10)
        assert.strictEqual(pieces.map(({ text }) => text).join(""), whole)
        const before = whole.startsWith(part) ? splitMarkdown(part, 10).slice(0, -1) : []
        assert.deepStrictEqual(pieces.slice(0, before.length), before)
      })
    )
  })

  it("do not split fenced code", () => {
    const code = "```js\na\n\nb\n\nc\n```\n"
    assert.deepStrictEqual(splitMarkdown(`${code}\nafter`, 1), [
      { start: 0, text: `${code}\n` },
      { start: code.length + 1, text: "after" }
    ])
  })

  it("keep text from the parser that it can't handle", () => {
    assert.isFalse(isSafeToParse(">".repeat(1_000)))
    assert.isFalse(isSafeToParse("[".repeat(1_000)))
    assert.isFalse(isSafeToParse("x".repeat(10_000)))
    // Short lines of one paragraph are one block to the parser.
    for (const line of ["]", "a*", "](", "**a*", "~~a"])
      assert.isFalse(isSafeToParse(`${line}\n`.repeat(1_000)), line)
    assert.isFalse(isSafeToParse("2. ]\n".repeat(1_000)), "only 1. begins a list in a paragraph")
    assert.isTrue(isSafeToParse("- **name** of [it](https://x.test)\n".repeat(300)))
    assert.isFalse(isSafeToParse("- ".repeat(500) + "x"))
    assert.isTrue(isSafeToParse("# A\n\n- b\n  - c\n\n> d\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"))
  })
})
