/**
 * Unified diff from a runtime's report of a change. Does not compute differences. Also the check that a diff contains only certain files.
 */

// Check that a diff contains only certain files. Lines inside a hunk, by the hunk's own counts, are content. Every other line must be a
// known line of a diff.

const LINES =
  /^(?:|={3,}|index [\da-f]+\.\.[\da-f]+(?: \d+)?|(?:new|create|deleted) file mode \d+|\\ No newline at end of file)$/

/** A path without leading slashes, as diffs have it after `a/`. */
const bare = (name: string): string => name.replace(/^\/+/, "")

/** All header lines that name one of these files. */
const headersOf = (paths: ReadonlyArray<string>): ReadonlySet<string> => {
  const lines = new Set<string>()
  for (const side of ["---", "+++"])
    for (const nothing of ["/dev/null", "a/dev/null", "b/dev/null"]) lines.add(`${side} ${nothing}`)
  for (const path of paths) {
    const name = bare(path)
    lines.add(`diff --git a/${name} b/${name}`)
    for (const spelling of [path, name, `a/${name}`, `b/${name}`, `a/${path}`, `b/${path}`])
      for (const prefix of ["---", "+++", "Index:"]) lines.add(`${prefix} ${spelling}`)
  }
  return lines
}

/** Whether a diff names only these files. False if it has a line that is not of a diff. */
export const namesOnly = (diff: string, paths: ReadonlyArray<string>): boolean => {
  const headers = headersOf(paths)
  let [before, after] = [0, 0]
  for (const line of diff.split("\n")) {
    if (before > 0 || after > 0) {
      const mark = line.charAt(0)
      if (!["", " ", "+", "-", "\\"].includes(mark)) return false
      if (mark !== "+" && mark !== "\\") before--
      if (mark !== "-" && mark !== "\\") after--
      continue
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)]
    else if (!headers.has(line.trimEnd()) && !LINES.test(line)) return false
  }
  return true
}

export interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** Lines with their leading ` `, `-` or `+`. */
  readonly lines: ReadonlyArray<string>
}

/** Lines of a text, without the last newline. An empty text has no lines. */
export const textLinesOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")

/** One hunk that replaces `before` by `after`, numbered from line 1 because the position is unknown. */
export const replacement = (before: string, after: string): Hunk => {
  const [old, now] = [textLinesOf(before), textLinesOf(after)]
  return {
    oldStart: old.length === 0 ? 0 : 1,
    oldLines: old.length,
    newStart: now.length === 0 ? 0 : 1,
    newLines: now.length,
    lines: [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)]
  }
}

/** The patch of one file. `isNew`: the file did not exist. */
export const unifiedDiff = (path: string, hunks: ReadonlyArray<Hunk>, isNew: boolean): string => {
  let patch = `${isNew ? "--- /dev/null" : `--- a/${path}`}\n+++ b/${path}\n`
  for (const { lines, newLines, newStart, oldLines, oldStart } of hunks) {
    patch += `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n`
    for (const line of lines) patch += `${line}\n`
  }
  return patch
}
