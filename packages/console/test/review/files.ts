/** Changed files for tests, from the lines of one hunk. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"

export const changedFile = (
  path: string,
  lines: ReadonlyArray<string>,
  more: Partial<FileDiff> = {}
): FileDiff => ({
  path,
  status: "modified",
  binary: false,
  additions: lines.filter((line) => line[0] === "+").length,
  deletions: lines.filter((line) => line[0] === "-").length,
  hunks: [
    {
      oldStart: 1,
      oldLines: lines.filter((line) => line[0] !== "+").length,
      newStart: 1,
      newLines: lines.filter((line) => line[0] !== "-").length,
      lines
    }
  ],
  ...more
})
