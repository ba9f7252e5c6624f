/**
 * Lines of a plan that can be commented on: a heading, a list item, a paragraph, a table or a block of code is one. Pure.
 *
 * Guarantees: each line with text is in exactly one part, and the parts are in the order of the plan.
 */

export interface PlanPart {
  /** Number of its first line, from 1. */
  readonly line: number
  readonly lines: ReadonlyArray<string>
  /** Depth of a list item, from 0. */
  readonly depth: number
}

/** A comment on a part of a plan. */
export interface PlanComment {
  /** First line of the part. */
  readonly line: number
  readonly text: string
}

const FENCE = /^ {0,12}(`{3,}|~{3,})/
const ITEM = /^( {0,20}|\t{0,5})(?:[-*+]|\d{1,9}[.)]) /
const HEADING = /^ {0,3}#{1,6} /
/** Deeper items look the same. */
const DEEPEST = 4
/** Columns of one depth, as most plans indent. */
const INDENT = 2

const depthOf = (line: string): number => {
  const [, space = ""] = ITEM.exec(line) ?? []
  return Math.min(DEEPEST, Math.floor(space.replaceAll("\t", "  ").length / INDENT))
}

const beginsPart = (line: string): boolean => ITEM.test(line) || HEADING.test(line) || FENCE.test(line)

/** Number of lines of the part that begins at `from`. */
const lengthAt = (lines: ReadonlyArray<string>, from: number): number => {
  const first = lines[from] ?? ""
  const [, fence] = FENCE.exec(first) ?? []
  if (fence !== undefined) {
    const end = lines.findIndex((line, at) => at > from && FENCE.exec(line)?.[1]?.startsWith(fence) === true)
    return (end === -1 ? lines.length : end + 1) - from
  }
  if (HEADING.test(first)) return 1
  let to = from + 1
  while (to < lines.length && (lines[to] ?? "").trim() !== "" && !beginsPart(lines[to] ?? "")) to++
  return to - from
}

export const planParts = (plan: string): ReadonlyArray<PlanPart> => {
  const lines = plan.split("\n")
  const parts: Array<PlanPart> = []
  for (let at = 0; at < lines.length;) {
    const first = lines[at] ?? ""
    if (first.trim() === "") {
      at++
      continue
    }
    const length = lengthAt(lines, at)
    parts.push({ line: at + 1, lines: lines.slice(at, at + length), depth: depthOf(first) })
    at += length
  }
  return parts
}

/** Lines of one part that a comment quotes. */
const QUOTED = 3

const quoteOf = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const shown = lines.slice(0, QUOTED).map((line) => `> ${line.trim()}`)
  return lines.length > QUOTED ? [...shown, "> …"] : shown
}

/** All comments as one text: each after the lines that it is about, in the order of the plan, then the closing words. */
export const commentText = (
  parts: ReadonlyArray<PlanPart>,
  comments: ReadonlyArray<PlanComment>,
  closing: string
): string =>
  [
    ...parts.flatMap(({ line, lines }) =>
      comments
        .filter((comment) => comment.line === line)
        .map(({ text }) => [...quoteOf(lines), "", text.trim()].join("\n"))
    ),
    ...(closing.trim() === "" ? [] : [closing.trim()])
  ].join("\n\n")
