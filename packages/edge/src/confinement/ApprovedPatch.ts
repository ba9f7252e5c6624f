/**
 * Content of a file after a patch that an approval showed. Pure.
 *
 * Guarantees: the patch is about this file alone, and each of its lines is used: every removed and unchanged line is in the file where the patch
 * says. A patch of one part without its true position counts if its old lines are in the file once. Otherwise the content is not known.
 *
 * Does not: tolerate other white space, or delete and rename files.
 */

const HUNK = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/
const WITHOUT_NEWLINE = "\\"

/** Lines with their ends. The last one may have none. */
const linesOf = (text: string): ReadonlyArray<string> => text.match(/[^\n]*\n|[^\n]+/g) ?? []

interface Hunk {
  /** Lines of the file before the hunk. */
  readonly start: number
  readonly oldLines: ReadonlyArray<string>
  readonly newLines: ReadonlyArray<string>
  /** Index of the line after the hunk. */
  readonly end: number
}

const readHunk = (lines: ReadonlyArray<string>, at: number): Hunk | undefined => {
  const [, start, oldCount = "1", , newCount = "1"] = HUNK.exec(lines[at] ?? "") ?? []
  if (start === undefined) return undefined
  const [wantedOld, wantedNew] = [Number(oldCount), Number(newCount)]
  const [oldLines, newLines]: [Array<string>, Array<string>] = [[], []]
  let next = at + 1
  while (oldLines.length < wantedOld || newLines.length < wantedNew) {
    const line = lines[next++]
    const kind = line?.[0]
    if (line === undefined || (kind !== " " && kind !== "-" && kind !== "+")) return undefined
    const hasNewline = lines[next]?.startsWith(WITHOUT_NEWLINE) !== true
    if (!hasNewline) next++
    const text = `${line.slice(1)}${hasNewline ? "\n" : ""}`
    if (kind !== "+") oldLines.push(text)
    if (kind !== "-") newLines.push(text)
  }
  if (oldLines.length !== wantedOld || newLines.length !== wantedNew) return undefined
  // A hunk without old lines names the line that it follows.
  return { start: Number(start) - (wantedOld === 0 ? 0 : 1), oldLines, newLines, end: next }
}

const readHunks = (lines: ReadonlyArray<string>): ReadonlyArray<Hunk> | undefined => {
  const hunks: Array<Hunk> = []
  for (let at = 2; at < lines.length;) {
    const hunk = readHunk(lines, at)
    if (hunk === undefined) return undefined
    hunks.push(hunk)
    at = hunk.end
  }
  return hunks.length === 0 ? undefined : hunks
}

/** `undefined` if a hunk does not fit where it says. */
const appliedInPlace = (old: ReadonlyArray<string>, hunks: ReadonlyArray<Hunk>): string | undefined => {
  const parts: Array<string> = []
  let used = 0
  for (const { newLines, oldLines, start } of hunks) {
    if (start < used || start > old.length) return undefined
    if (!oldLines.every((line, index) => old[start + index] === line)) return undefined
    parts.push(...old.slice(used, start), ...newLines)
    used = start + oldLines.length
  }
  parts.push(...old.slice(used))
  // Only the last line of a file has no end.
  return parts.slice(0, -1).every((line) => line.endsWith("\n")) ? parts.join("") : undefined
}

/** `undefined` if the old lines are missing, or in the file more than once. */
const appliedOnce = (text: string, { newLines, oldLines }: Hunk): string | undefined => {
  // Whole lines, so the text of both begins after an end and has one.
  if (![oldLines, newLines].every((lines) => lines.at(-1)?.endsWith("\n") !== false)) return undefined
  if (oldLines.length === 0) return undefined
  const [whole, wanted] = [`\n${text}`, `\n${oldLines.join("")}`]
  const at = whole.indexOf(wanted)
  // The next place may begin with the end of this one.
  if (at === -1 || whole.includes(wanted, at + 1)) return undefined
  return `${whole.slice(0, at)}\n${newLines.join("")}${whole.slice(at + wanted.length)}`.slice(1)
}

/** `before`: the content so far; `undefined` if the file does not exist. The result is `undefined` if it is not known. */
export const patchedContent = (
  patch: string,
  path: string,
  before: string | undefined
): string | undefined => {
  // One that is cut has no end.
  if (!patch.endsWith("\n")) return undefined
  const lines = patch.slice(0, -1).split("\n")
  const from = before === undefined ? "--- /dev/null" : `--- a/${path}`
  if (lines[0] !== from || lines[1] !== `+++ b/${path}`) return undefined
  const hunks = readHunks(lines)
  if (hunks === undefined) return undefined
  const inPlace = appliedInPlace(linesOf(before ?? ""), hunks)
  const [hunk, ...others] = hunks
  const isAlone = hunk !== undefined && others.length === 0
  return inPlace ?? (isAlone && before !== undefined ? appliedOnce(before, hunk) : undefined)
}
