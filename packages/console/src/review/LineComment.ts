/**
 * Comments on lines of a diff, and their place in it.
 *
 * A comment keeps the text of its lines. When the diff changes, its place is where these lines are now, nearest to where they were.
 */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { type DiffEntry, rowsOf } from "../diff/rows.ts"

export type DiffSideName = "old" | "new"

/** A line by its number: removed lines by their old number, all others by their new one. */
export interface LineRef {
  readonly side: DiffSideName
  readonly line: number
}

/** Lines of one file, in order. */
export interface LineSpan {
  readonly from: LineRef
  readonly to: LineRef
}

export interface LineComment extends LineSpan {
  readonly id: string
  readonly path: string
  /** The first lines that it is about, as in a patch: with their signs. */
  readonly quote: ReadonlyArray<string>
  readonly text: string
  /** How the person would write the hunk of these lines, from its first to its last changed line. */
  readonly suggestion?: ReadonlyArray<string>
}

/** A comment with its lines in the diff that is shown. `undefined` if they are not in it. */
export interface PlacedComment {
  readonly comment: LineComment
  readonly span: LineSpan | undefined
}

interface PatchLine extends LineRef {
  readonly mark: " " | "+" | "-"
  readonly text: string
}

/** Lines of a quote, and characters of each. */
const QUOTE_LINES = 12
const QUOTE_CHARACTERS = 400

export const isSameLine = (a: LineRef | undefined, b: LineRef | undefined): boolean =>
  a !== undefined && b !== undefined && a.line === b.line && a.side === b.side

/** The line of a row. Of a pair, the one on that side: an unchanged line is the same on both. */
export const lineOfRow = (row: DiffEntry, side: DiffSideName = "new"): LineRef | undefined => {
  if (row.kind === "line") return { side: row.side.mark === "-" ? "old" : "new", line: row.side.number }
  if (row.kind !== "pair") return undefined
  const wanted = side === "old" && row.old?.mark === "-" ? row.old : (row.new ?? row.old)
  return wanted && { side: wanted.mark === "-" ? "old" : "new", line: wanted.number }
}

const cached = new WeakMap<FileDiff, ReadonlyArray<PatchLine>>()

const linesOf = (file: FileDiff): ReadonlyArray<PatchLine> => {
  const found = cached.get(file)
  if (found !== undefined) return found
  const lines = rowsOf(file.hunks, "unified").flatMap((row): ReadonlyArray<PatchLine> => {
    const line = lineOfRow(row)
    return row.kind === "line" && line !== undefined
      ? [{ ...line, mark: row.side.mark, text: row.side.text }]
      : []
  })
  cached.set(file, lines)
  return lines
}

/** Lines between two lines of one side are those of that side. Between lines of different sides, all. */
const isIn = ({ from, to }: LineSpan) => {
  if (from.side !== to.side) return () => true
  const hidden = from.side === "new" ? "-" : "+"
  return ({ mark }: PatchLine) => mark !== hidden
}

/** Lines from one line to another one, in either order. Empty if the file does not show both. */
const linesBetween = (file: FileDiff, one: LineRef, other: LineRef): ReadonlyArray<PatchLine> => {
  const lines = linesOf(file)
  const [a, b] = [one, other].map((wanted) => lines.findIndex((line) => isSameLine(line, wanted)))
  if (a === undefined || b === undefined || a === -1 || b === -1) return []
  return lines.slice(Math.min(a, b), Math.max(a, b) + 1).filter(isIn({ from: one, to: other }))
}

const refOf = ({ line, side }: LineRef): LineRef => ({ line, side })

/** The span from one line to another one, and its quote. `undefined` if the file does not show both. */
export const spanOf = (
  file: FileDiff,
  one: LineRef,
  other: LineRef
): (LineSpan & Pick<LineComment, "quote">) | undefined => {
  const lines = linesBetween(file, one, other)
  const [first, last] = [lines[0], lines.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const quote = lines.slice(0, QUOTE_LINES).map(({ mark, text }) => mark + text.slice(0, QUOTE_CHARACTERS))
  return { from: refOf(first), to: refOf(last), quote }
}

/** Keys of the lines of a span, for marks on its rows. */
export const linesInSpan = (file: FileDiff, { from, to }: LineSpan): ReadonlySet<string> =>
  new Set(linesBetween(file, from, to).map(keyOfLine))

export const keyOfLine = ({ line, side }: LineRef): string => `${side} ${line}`

/** Where the lines of a comment are now. */
export const placeComment = (file: FileDiff, comment: LineComment): LineSpan | undefined => {
  const { from, quote, to } = comment
  const lines = linesOf(file).filter(isIn(comment))
  const texts = quote.map((line) => line.slice(1))
  const isHere = (at: number): boolean =>
    texts.every((text, nth) => lines[at + nth]?.text.slice(0, QUOTE_CHARACTERS) === text)
  let found: number | undefined
  let nearest = Number.POSITIVE_INFINITY
  lines.forEach(({ line, side }, at) => {
    // Numbers of the two sides are not the same lines.
    const distance = Math.abs(line - from.line) + (side === from.side ? 0 : 0.5)
    if (distance >= nearest || !isHere(at)) return
    found = at
    nearest = distance
  })
  const first = found === undefined ? undefined : lines[found]
  if (found === undefined || first === undefined) return undefined
  // A quote of the first lines only: the others follow.
  const others = from.side === to.side ? to.line - from.line : texts.length - 1
  const last = lines[Math.min(found + Math.max(others, texts.length - 1), lines.length - 1)] ?? first
  return { from: refOf(first), to: refOf(last) }
}

/**
 * A comment with the place of its lines. `isComplete`: whether all changes are loaded. Before that, nothing is known about the lines of a file that
 * is not loaded, so the comment keeps those that it was written on.
 */
export const placedComment = (
  comment: LineComment,
  file: FileDiff | undefined,
  isComplete: boolean
): PlacedComment => {
  const { from, to } = comment
  if (file === undefined) return { comment, span: isComplete ? undefined : { from, to } }
  return { comment, span: placeComment(file, comment) }
}
