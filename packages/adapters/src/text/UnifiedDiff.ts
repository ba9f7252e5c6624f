/**
 * Unified diff from a runtime's report of a change. Does not compute differences.
 */

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
