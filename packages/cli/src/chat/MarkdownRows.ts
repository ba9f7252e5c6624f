/**
 * Markdown as it streams: complete lines become rows that never change, and the last line is a preview. A table has its columns side by side if
 * they fit the terminal, otherwise one line per cell.
 *
 * Guarantees: the rows do not depend on the pieces in which the text arrives. No row is wider than the terminal.
 *
 * Does not: read HTML, footnotes or nested blocks. The text has passed `escapeControls`.
 */
import { columnsOf, type Row, type TextSpan, wrapIndented, wrapSpans } from "../terminal/Rows.ts"

type Style = TextSpan["style"]

const MAX_LINE = 8_192
/** Marks, longest first, with the style of the text between two of them. */
const marks = [
  ["**", "bold"],
  ["__", "bold"],
  ["~~", "strikethrough"],
  ["*", "italic"],
  ["_", "italic"]
] as const

const isWordCharacter = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}_]/u.test(character)

/** Position of the closing mark; -1 if there is none. The text before it is not a space. */
const closingOf = (text: string, mark: string, from: number): number => {
  for (let at = text.indexOf(mark, from + 1); at !== -1; at = text.indexOf(mark, at + 1)) {
    // Two marks in a row are another mark.
    if (mark.length === 1 && text[at + 1] === mark) {
      at++
      continue
    }
    const isInWord = mark.startsWith("_") && isWordCharacter(text[at + mark.length])
    if (text[at - 1] !== " " && !isInWord) return at
  }
  return -1
}

/** A link or an image: its label and its address. */
const linkAt = (text: string, at: number) => {
  const open = text[at] === "!" ? at + 1 : at
  if (text[open] !== "[") return undefined
  const middle = text.indexOf("](", open)
  const end = middle === -1 ? -1 : text.indexOf(")", middle)
  if (end === -1) return undefined
  return { label: text.slice(open + 1, middle), address: text.slice(middle + 2, end), end: end + 1 }
}

/** Parser of one line. */
class InlineParser {
  readonly spans: Array<TextSpan> = []
  private readonly text: string
  /** Marks without a closing one. */
  private readonly unclosed = new Set<string>()
  private plainFrom = 0
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  parse(): ReadonlyArray<TextSpan> {
    while (this.at < this.text.length) if (!this.code() && !this.link() && !this.marked()) this.at++
    this.endPlain()
    return this.spans
  }

  private endPlain(): void {
    if (this.plainFrom < this.at) this.spans.push({ text: this.text.slice(this.plainFrom, this.at) })
  }

  private add(spans: ReadonlyArray<TextSpan>, end: number): true {
    this.endPlain()
    this.spans.push(...spans)
    this.at = end
    this.plainFrom = end
    return true
  }

  private code(): boolean {
    if (this.text[this.at] !== "`") return false
    let length = 1
    while (this.text[this.at + length] === "`") length++
    const mark = "`".repeat(length)
    const from = this.at + length
    const end = this.unclosed.has(mark) ? -1 : this.text.indexOf(mark, from)
    if (end === -1) {
      this.unclosed.add(mark)
      this.at = from - 1
      return false
    }
    const code = this.text.slice(from, end)
    const isPadded = code.startsWith(" ") && code.endsWith(" ") && code.trim() !== ""
    return this.add([{ text: isPadded ? code.slice(1, -1) : code, style: "cyan" }], end + length)
  }

  private link(): boolean {
    const character = this.text[this.at]
    if ((character !== "[" && character !== "!") || this.unclosed.has("](")) return false
    const found = linkAt(this.text, this.at)
    if (found === undefined) {
      if (character === "[") this.unclosed.add("](")
      return false
    }
    const { address, end, label } = found
    const shown: ReadonlyArray<TextSpan> =
      label === address || label === ""
        ? [{ text: address, style: "underline" }]
        : [...inlineSpans(label), { text: " (" }, { text: address, style: "underline" }, { text: ")" }]
    return this.add(shown, end)
  }

  private marked(): boolean {
    for (const [mark, style] of marks) {
      if (!this.text.startsWith(mark, this.at)) continue
      if (this.unclosed.has(mark)) {
        this.at += mark.length - 1
        return false
      }
      if (mark.startsWith("_") && isWordCharacter(this.text[this.at - 1])) continue
      const from = this.at + mark.length
      if (from >= this.text.length || this.text[from] === " ") continue
      const end = closingOf(this.text, mark, from)
      if (end === -1) {
        this.unclosed.add(mark)
        this.at += mark.length - 1
        return false
      }
      const within = inlineSpans(this.text.slice(from, end)).map((span) => ({
        text: span.text,
        style: mergedStyle(style, span.style)
      }))
      return this.add(within, end + mark.length)
    }
    return false
  }
}

const mergedStyle = (outer: NonNullable<Style>, inner: Style): Style =>
  inner === undefined ? outer : ([outer, inner].flat() as unknown as Style) // lists of styles are styles

/**
 * Spans of one line of Markdown: code, strong, emphasis, deleted text and links. Marks that are not closed stay as they are.
 *
 * Bounded: each mark is searched once, and a line that is too long is plain.
 */
const inlineSpans = (text: string): ReadonlyArray<TextSpan> =>
  text.length > MAX_LINE ? [{ text }] : new InlineParser(text).parse()

const MAX_CELLS = 24
const GAP = "  "

/** Cells of a line that begins with `|`. An escaped bar is text. */
const tableCells = (line: string): ReadonlyArray<string> => {
  const cells = line.trim().replaceAll("\\|", "\u0000").split("|").slice(1)
  if (cells.at(-1)?.trim() === "") cells.pop()
  return cells.slice(0, MAX_CELLS).map((cell) => cell.trim().replaceAll("\u0000", "|"))
}

const isDelimiterRow = (line: string): boolean => {
  const cells = tableCells(line)
  return cells.length > 0 && cells.every((cell) => /^:?-+:?$/.test(cell))
}

const textOf = (spans: Row): string => spans.map(({ text }) => text).join("")

const bold = ({ style, text }: TextSpan): TextSpan => ({ text, style: style ?? "bold" })

/** The first line has the names of the columns. */
const tableRows = (
  header: ReadonlyArray<string>,
  body: ReadonlyArray<ReadonlyArray<string>>,
  columns: number
): ReadonlyArray<Row> => {
  const lines = [header, ...body].map((cells) => header.map((_, at) => inlineSpans(cells[at] ?? "")))
  const widths = header.map((_, at) => Math.max(...lines.map((cells) => columnsOf(textOf(cells[at] ?? [])))))
  const width = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (header.length - 1)
  if (width > columns) return stackedRows(header, body, columns)
  return lines.map((cells, line) =>
    cells.flatMap((cell, at) => {
      const isLast = at === cells.length - 1
      const padding = " ".repeat((widths[at] ?? 0) - columnsOf(textOf(cell)))
      return [...(line === 0 ? cell.map(bold) : cell), ...(isLast ? [] : [{ text: padding + GAP }])]
    })
  )
}

/** Each line as a list of names and values. */
const stackedRows = (
  header: ReadonlyArray<string>,
  body: ReadonlyArray<ReadonlyArray<string>>,
  columns: number
): ReadonlyArray<Row> =>
  body.flatMap((cells, line) => [
    ...(line === 0 ? [] : [[{ text: "" }]]),
    ...header.flatMap((name, at) =>
      wrapIndented(
        [...inlineSpans(name).map(bold), { text: ": " }, ...inlineSpans(cells[at] ?? "")],
        columns,
        [],
        [{ text: GAP }]
      )
    )
  ])

/** Longest line whose structure is read. */
const MAX_STRUCTURE = 256
const MAX_TABLE_LINES = 500
const MAX_INDENT = 8
const MAX_RULE = 40

const fence = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/
const heading = /^ {0,3}(#{1,6}) +/
const rule = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/
const item = /^( *)([-*+]|\d{1,9}[.)]) +/
const quote = /^ {0,3}> ?/

export class MarkdownRows {
  /** Columns of the terminal. May change between two lines. */
  private readonly columns: () => number
  private openFence: string | undefined
  private table: ReadonlyArray<string> = []
  private wasBlank = true

  constructor(columns: () => number) {
    this.columns = columns
  }

  /** Rows of a complete line. Lines of a table wait for its end. */
  line(line: string): ReadonlyArray<Row> {
    if (
      this.openFence === undefined &&
      line.trimStart().startsWith("|") &&
      this.table.length < MAX_TABLE_LINES
    ) {
      this.table = [...this.table, line]
      return []
    }
    return [...this.endTable(), ...this.collapsed(this.rowsOf(line))]
  }

  /** Rows of an incomplete line, as it would end now. */
  preview(line: string): ReadonlyArray<Row> {
    const copy = new MarkdownRows(this.columns)
    copy.openFence = this.openFence
    copy.table = this.table
    copy.wasBlank = this.wasBlank
    return [...copy.line(line), ...copy.endTable()]
  }

  /** Rows that waited. Ends the message. */
  end(): ReadonlyArray<Row> {
    this.openFence = undefined
    return this.endTable()
  }

  private endTable(): ReadonlyArray<Row> {
    const lines = this.table
    this.table = []
    const [header, delimiter, ...body] = lines
    if (header === undefined) return []
    this.wasBlank = false
    return delimiter !== undefined && isDelimiterRow(delimiter)
      ? tableRows(tableCells(header), body.map(tableCells), this.columns())
      : lines.flatMap((line) => wrapSpans(inlineSpans(line), this.columns()))
  }

  /** Several blank lines are one. */
  private collapsed(rows: ReadonlyArray<Row>): ReadonlyArray<Row> {
    const isBlank = rows.every((row) => row.every(({ text }) => text === ""))
    if (isBlank && this.wasBlank && this.openFence === undefined) return []
    if (rows.length > 0) this.wasBlank = isBlank
    return rows
  }

  private rowsOf(line: string): ReadonlyArray<Row> {
    const start = line.slice(0, MAX_STRUCTURE)
    const marks = fence.exec(start)
    const [, mark = "", language = ""] = marks ?? []
    if (this.openFence !== undefined) {
      const isEnd = mark.startsWith(this.openFence) && line.trim() === mark
      if (!isEnd)
        return wrapIndented([{ text: line }], this.columns(), [{ text: "  " }], undefined, "anywhere")
      this.openFence = undefined
      return []
    }
    if (marks !== null) {
      this.openFence = mark
      return language === "" ? [] : [[{ text: `  ${language}`, style: "dim" }]]
    }
    return this.block(line, start)
  }

  private block(line: string, start: string): ReadonlyArray<Row> {
    const columns = this.columns()
    const [headingStart = ""] = heading.exec(start) ?? []
    if (headingStart !== "")
      return wrapSpans(
        inlineSpans(line.slice(headingStart.length)).map(({ text }): TextSpan => ({ text, style: "bold" })),
        columns
      )
    if (rule.test(start.trimEnd())) return [[{ text: "─".repeat(Math.min(columns, MAX_RULE)), style: "dim" }]]
    const [quoteStart] = quote.exec(start) ?? []
    if (quoteStart !== undefined)
      return wrapIndented(inlineSpans(line.slice(quoteStart.length)), columns, [{ text: "│ ", style: "dim" }])
    const [itemStart = "", indent = "", marker = ""] = item.exec(start) ?? []
    if (itemStart !== "") return this.listItem(line.slice(itemStart.length), indent, marker)
    return wrapSpans(inlineSpans(line.trimEnd()), columns)
  }

  private listItem(text: string, indent: string, marker: string): ReadonlyArray<Row> {
    const before = " ".repeat(Math.min(MAX_INDENT, indent.length))
    const sign = marker.length > 1 ? marker : "•"
    const following = `${before}${" ".repeat(sign.length + 1)}`
    return wrapIndented(
      inlineSpans(text.trimEnd()),
      this.columns(),
      [{ text: `${before}${sign} ` }],
      [{ text: following }]
    )
  }
}
