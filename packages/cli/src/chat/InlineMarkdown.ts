/**
 * Spans of one line of Markdown: code, strong, emphasis, deleted text and links. Marks that are not closed stay as they are.
 *
 * Bounded: each mark is searched once, and a line that is too long is plain.
 */
import type { TextSpan } from "../terminal/WrapText.ts"

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

/** Spans of a line. */
export const inlineSpans = (text: string): ReadonlyArray<TextSpan> =>
  text.length > MAX_LINE ? [{ text }] : new InlineParser(text).parse()
