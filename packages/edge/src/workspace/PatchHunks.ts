/**
 * Hunks of text files, from the bytes of a patch: parser, and application of some hunks to the base. Pure.
 *
 * Guarantees: lines are bytes with their line ends, so that any encoding, CRLF and a missing newline at the end survive.
 */
import type { DiffHunk } from "@corral/domain/edge-api/Diff"

export interface PatchLine {
  readonly kind: " " | "+" | "-"
  /** With its line end, if it has one. */
  readonly bytes: Buffer
}

/** A hunk. Lines count from 1; a start without lines is the line before. */
export interface PatchHunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: ReadonlyArray<PatchLine>
}

const NEWLINE = 0x0a
const NO_NEWLINE = "\\ No newline at end of file"
const HEADER = Buffer.from("diff --git ")
/** Longest head of a hunk without the text after it. */
const MAX_HEAD = 128
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** Reads lines, each with its line end. */
class LineReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** The first byte of the next line. */
  get first(): number | undefined {
    return this.#bytes[this.#at]
  }

  next(): Buffer {
    const end = this.#bytes.indexOf(NEWLINE, this.#at)
    const line = this.#bytes.subarray(this.#at, end === -1 ? this.#bytes.length : end + 1)
    this.#at += line.length
    return line
  }
}

const BACKSLASH = 0x5c
const MARKS: Readonly<Record<number, PatchLine["kind"]>> = { 0x20: " ", 0x2b: "+", 0x2d: "-" }

/** Lines of a hunk, by their number in both versions: a line of a file may look like a header. */
const readLines = (reader: LineReader, oldLines: number, newLines: number): ReadonlyArray<PatchLine> => {
  const lines: Array<PatchLine> = []
  let [before, after] = [oldLines, newLines]
  while ((before > 0 || after > 0) && !reader.isAtEnd) {
    const kind = MARKS[reader.first ?? 0]
    if (kind === undefined) break
    const bytes = reader.next().subarray(1)
    if (kind !== "+") before--
    if (kind !== "-") after--
    const isLast = reader.first === BACKSLASH
    if (isLast) reader.next()
    lines.push({ kind, bytes: isLast ? bytes.subarray(0, -1) : bytes })
  }
  return lines
}

/**
 * Hunks of each file of a patch, in order. A file that becomes a link has two sections with one head: it is removed and created. A hunk that the patch
 * does not complete has fewer lines than its head says.
 */
export const readPatch = (patch: Buffer): ReadonlyArray<ReadonlyArray<PatchHunk>> => {
  const sections: Array<Array<PatchHunk>> = []
  const reader = new LineReader(patch)
  let header: Buffer | undefined
  while (!reader.isAtEnd) {
    const line = reader.next()
    if (line.subarray(0, HEADER.length).equals(HEADER)) {
      if (header?.equals(line) !== true) sections.push([])
      header = line
      continue
    }
    const head = HUNK.exec(line.toString("latin1", 0, MAX_HEAD))
    if (head === null) continue
    const [, oldStart, oldCount = "1", newStart, newCount = "1"] = head
    const [oldLines, newLines] = [Number(oldCount), Number(newCount)]
    const lines = readLines(reader, oldLines, newLines)
    sections
      .at(-1)
      ?.push({ oldStart: Number(oldStart), oldLines, newStart: Number(newStart), newLines, lines })
  }
  return sections
}

/** Places where the lines of a file start, and its end. */
const lineStarts = (bytes: Buffer): ReadonlyArray<number> => {
  const starts = [0]
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) starts.push(at + 1)
  if (starts.at(-1) !== bytes.length) starts.push(bytes.length)
  return starts
}

/** Index of the first line of the old version that a hunk has. */
const firstLine = ({ oldLines, oldStart }: PatchHunk): number => (oldLines === 0 ? oldStart : oldStart - 1)

/** The old version with these hunks of its difference applied, in their order. */
export const applyHunks = (base: Buffer, chosen: ReadonlyArray<PatchHunk>): Buffer => {
  const starts = lineStarts(base)
  const parts: Array<Buffer> = []
  let at = 0
  for (const hunk of chosen) {
    const first = firstLine(hunk)
    parts.push(base.subarray(at, starts[first]))
    for (const { bytes, kind } of hunk.lines) if (kind !== "-") parts.push(bytes)
    at = starts[first + hunk.oldLines] ?? base.length
  }
  parts.push(base.subarray(at))
  return Buffer.concat(parts)
}

/** Hunks of the old version with up to `count` lines of context on each side, but no line of another hunk of the file. */
export const widenHunks = (
  base: Buffer,
  hunks: ReadonlyArray<PatchHunk>,
  count: number
): ReadonlyArray<PatchHunk> => {
  const starts = lineStarts(base)
  const context = (from: number, to: number): ReadonlyArray<PatchLine> =>
    Array.from({ length: Math.max(0, to - from) }, (_, at) => ({
      kind: " ",
      bytes: base.subarray(starts[from + at], starts[from + at + 1])
    }))
  return hunks.map((hunk, at) => {
    const [before, after] = [hunks[at - 1], hunks[at + 1]]
    const first = firstLine(hunk)
    const end = first + hunk.oldLines
    const lowest = before === undefined ? 0 : firstLine(before) + before.oldLines
    const highest = after === undefined ? starts.length - 1 : firstLine(after)
    const leading = hunk.lines.findIndex(({ kind }) => kind !== " ")
    const trailing = hunk.lines.toReversed().findIndex(({ kind }) => kind !== " ")
    const above = context(Math.max(lowest, first - Math.max(0, count - leading)), first)
    const below = context(end, Math.min(highest, end + Math.max(0, count - trailing)))
    return {
      oldStart: hunk.oldStart - above.length,
      oldLines: hunk.oldLines + above.length + below.length,
      newStart: hunk.newStart - above.length,
      newLines: hunk.newLines + above.length + below.length,
      lines: [...above, ...hunk.lines, ...below]
    }
  })
}

/** Numbers of added and removed lines. */
export const countsOf = ({
  lines
}: PatchHunk): { readonly additions: number; readonly deletions: number } => ({
  additions: lines.filter(({ kind }) => kind === "+").length,
  deletions: lines.filter(({ kind }) => kind === "-").length
})

/** A hunk as text, for people. */
export const shownHunk = ({ lines, ...place }: PatchHunk): DiffHunk => ({
  ...place,
  lines: lines.flatMap(({ bytes, kind }) =>
    bytes.at(-1) === NEWLINE
      ? [kind + bytes.toString("utf8", 0, bytes.length - 1)]
      : [kind + bytes.toString("utf8"), NO_NEWLINE]
  )
})
