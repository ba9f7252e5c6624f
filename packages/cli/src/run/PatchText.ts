/** Lines of a run's changes, as `git diff` prints them. Control characters are shown as symbols. */
import type { Diff, FileDiff } from "@corral/domain/edge-api/Diff"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import type { Row } from "../terminal/Rows.ts"

/** Colour of a line of a patch. */
export const tintOf = (line: string) =>
  line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined

/** Lines of one file, so that other programs can read them. */
export const filePatch = (file: FileDiff): ReadonlyArray<Row> => {
  const { binary, fromPath, hunks, path, status, truncated } = file
  const before = escapeLine(fromPath ?? path)
  const after = escapeLine(path)
  const isNew = status === "added" || status === "untracked"
  const plain = (text: string): Row => [{ text }]
  return [
    [{ text: `diff --git a/${before} b/${after}`, style: "bold" }],
    ...(fromPath === undefined ? [] : [plain(`rename from ${before}`), plain(`rename to ${after}`)]),
    ...(binary
      ? [plain(`Binary files a/${before} and b/${after} differ`)]
      : hunks.length === 0
        ? []
        : [
            plain(`--- ${isNew ? "/dev/null" : `a/${before}`}`),
            plain(`+++ ${status === "deleted" ? "/dev/null" : `b/${after}`}`)
          ]),
    ...hunks.flatMap(({ lines, newLines, newStart, oldLines, oldStart }): ReadonlyArray<Row> => [
      [{ text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, style: "cyan" }],
      ...lines.map((line): Row => [{ text: escapeControls(line), style: tintOf(line) }])
    ]),
    ...(truncated === true
      ? [[{ text: `# ${after} is too large to show in full`, style: "dim" } as const]]
      : [])
  ]
}

/** Lines of all files. */
export const patchText = ({ items, leftOut }: Pick<Diff, "items" | "leftOut">): ReadonlyArray<Row> => [
  ...items.flatMap(filePatch),
  ...leftOutRows(leftOut)
]

/** Names of the files that could not be compared. */
export const leftOutRows = (leftOut: Diff["leftOut"]): ReadonlyArray<Row> =>
  leftOut === undefined
    ? []
    : [
        ...leftOut.paths.map((path): Row => [{ text: `# not compared: ${escapeLine(path)}`, style: "dim" }]),
        ...(leftOut.count > leftOut.paths.length
          ? [
              [
                {
                  text: `# not compared: ${leftOut.count - leftOut.paths.length} more`,
                  style: "dim"
                } as const
              ]
            ]
          : [])
      ]
