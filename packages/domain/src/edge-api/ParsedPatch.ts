/**
 * Parser of unified patches that are given as text. Lines outside of hunks are ignored.
 */
import type { DiffHunk } from "./Diff.ts"

const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

/** Returns `undefined` if the text has no hunk and should be shown unchanged. */
export const parsePatch = (patch: string): ReadonlyArray<DiffHunk> | undefined => {
  const hunks: Array<DiffHunk & { readonly lines: Array<string> }> = []
  let [oldLeft, newLeft] = [0, 0]
  for (const line of patch.split("\n")) {
    const found = oldLeft > 0 || newLeft > 0 ? null : head.exec(line)
    if (found !== null) {
      const [, oldStart, oldLines = "1", newStart, newLines = "1"] = found
      ;[oldLeft, newLeft] = [Number(oldLines), Number(newLines)]
      const starts = { oldStart: Number(oldStart), newStart: Number(newStart) }
      hunks.push({ ...starts, oldLines: oldLeft, newLines: newLeft, lines: [] })
      continue
    }
    const mark = line[0]
    const inside = oldLeft > 0 || newLeft > 0
    if (!inside && mark !== "\\") continue
    if (mark !== "+" && mark !== "\\") oldLeft--
    if (mark !== "-" && mark !== "\\") newLeft--
    hunks.at(-1)?.lines.push(line === "" ? " " : line)
  }
  return hunks.length === 0 ? undefined : hunks
}
