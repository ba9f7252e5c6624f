import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { columnsOf, columnsOfRow, type Row, wrapIndented, wrapSpans } from "../../src/terminal/Rows.ts"
import { escapeLine } from "../../src/terminal/VisibleText.ts"

const anyText = fc
  .oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.string({ unit: "grapheme", maxLength: 200 }),
    fc
      .array(fc.constantFrom("word", "语言", " ", "👍🏽", "é", "a-very-long-word", "한국"), { maxLength: 80 })
      .map((all) => all.join(""))
  )
  .map(escapeLine)
const anyRow = fc.array(
  fc.record({ text: anyText, style: fc.constantFrom(undefined, "bold" as const, "dim" as const) }),
  { maxLength: 5 }
)
const textOf = (rows: ReadonlyArray<Row>): string =>
  rows.map((row) => row.map(({ text }) => text).join("")).join("")

describe("wrapSpans", () => {
  it("makes no row wider than the terminal, and loses only spaces", () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 2, max: 120 }), (row, columns) => {
        const rows = wrapSpans(row, columns)
        for (const each of rows) assert.isAtMost(columnsOfRow(each), columns)
        assert.strictEqual(textOf(rows).replaceAll(" ", ""), textOf([row]).replaceAll(" ", ""))
      })
    )
  })

  it("loses nothing where rows break anywhere", () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 2, max: 120 }), (row, columns) => {
        const rows = wrapSpans(row, columns, "anywhere")
        for (const each of rows) assert.isAtMost(columnsOfRow(each), columns)
        assert.strictEqual(textOf(rows), textOf([row]))
      })
    )
  })

  it("counts the indentation", () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 20, max: 120 }), (row, columns) => {
        const rows = wrapIndented(row, columns, [{ text: "1. " }], [{ text: "   " }])
        for (const each of rows) assert.isAtMost(columnsOfRow(each), columns)
      })
    )
  })

  it("breaks between words and around wide characters", () => {
    const rows = (text: string, columns: number) => wrapSpans([{ text }], columns).map((row) => textOf([row]))
    assert.deepStrictEqual(rows("to be or not to be", 9), ["to be or", "not to be"])
    assert.deepStrictEqual(rows("说中文吗 yes", 6), ["说中文", "吗 yes"])
    assert.deepStrictEqual(rows("unbreakable", 4), ["unbr", "eaka", "ble"])
    assert.deepStrictEqual(rows("", 4), [""])
  })
})

describe("columnsOf", () => {
  it("counts wide characters as two and combining ones as none", () => {
    assert.deepStrictEqual(
      ["a", "é", "e\u0301", "语", "ﾊ", "👍", "─", "…"].map(columnsOf),
      [1, 1, 1, 2, 1, 2, 1, 1]
    )
  })
})
