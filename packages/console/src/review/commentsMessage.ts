/**
 * Message with all comments of a review, as Markdown: a numbered list with file, line, the quoted lines and the comment.
 *
 * Guarantees: each comment stays in its item. A fence that a comment leaves open ends with it, because its lines are indented.
 */
import { visibleLine, visibleText } from "../markdown/visible.ts"
import type { LineSpan, PlacedComment } from "./LineComment.ts"

/** Largest message in bytes: that of a prompt. */
const MAX_BYTES = 262_144

export interface CommentWords {
  readonly opening: (count: number) => string
  readonly place: (path: string, lines: string) => string
  readonly line: (line: number) => string
  readonly lines: (from: number, to: number) => string
  readonly removedLine: (line: number) => string
  readonly removedLines: (from: number, to: number) => string
  readonly moved: string
  /** Before the lines that the person would write. */
  readonly suggestion: string
}

/** A fence or the marks of a code span, longer than any in the text. */
const marksAround = (text: string, least: number): string => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0)
  return "`".repeat(Math.max(least, longest + 1))
}

const codeSpan = (text: string): string => {
  const marks = marksAround(text, 1)
  return marks === "`" ? `\`${text}\`` : `${marks} ${text} ${marks}`
}

/** `line 12`, `removed lines 3–5`. */
export const describeSpan = ({ from, to }: LineSpan, words: CommentWords): string => {
  const isRemoved = from.side === "old" && to.side === "old"
  if (from.side === to.side && from.line === to.line)
    return isRemoved ? words.removedLine(from.line) : words.line(from.line)
  return isRemoved ? words.removedLines(from.line, to.line) : words.lines(from.line, to.line)
}

const suggestedLines = (suggestion: ReadonlyArray<string>, words: CommentWords): ReadonlyArray<string> => {
  const lines = suggestion.map((line) => visibleText(line.replaceAll("\r", "")))
  const fence = marksAround(lines.join("\n"), 3)
  return ["", words.suggestion, "", fence, ...lines, fence]
}

const itemOf = ({ comment, span }: PlacedComment, number: number, words: CommentWords): string => {
  const { path, quote, suggestion, text } = comment
  const where = words.place(codeSpan(visibleLine(path, 1_000)), describeSpan(span ?? comment, words))
  const lines = quote.map((line) => visibleText(line.replaceAll("\r", "")))
  const fence = marksAround(lines.join("\n"), 3)
  const start = `${number}. `
  const parts = [
    span === undefined ? `${where} ${words.moved}` : where,
    "",
    `${fence}diff`,
    ...lines,
    fence,
    "",
    ...(text.trim() === "" ? [] : text.trim().split(/\r\n|\r|\n/)),
    ...(suggestion === undefined ? [] : suggestedLines(suggestion, words))
  ]
  const indent = " ".repeat(start.length)
  return parts.map((line, at) => (at === 0 ? start + line : line === "" ? "" : indent + line)).join("\n")
}

export const commentsMessage = (comments: ReadonlyArray<PlacedComment>, words: CommentWords): string =>
  [words.opening(comments.length), ...comments.map((placed, at) => itemOf(placed, at + 1, words))].join(
    "\n\n"
  )

export const isTooLong = (message: string): boolean => new TextEncoder().encode(message).length > MAX_BYTES
