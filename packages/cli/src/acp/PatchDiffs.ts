/** Diffs of the Agent Client Protocol from a unified patch: one for each hunk, because the rest of the file is not known. */
import type { ToolCallContent } from "@agentclientprotocol/sdk"
import { parsePatch } from "@corral/domain/edge-api/ParsedPatch"
import { codeBlock, textContent } from "./UpdateText.ts"

const side = (lines: ReadonlyArray<string>, omitted: "+" | "-"): string => {
  const text = lines.flatMap((line, at) => {
    if (line.startsWith("\\") || line.startsWith(omitted)) return []
    const isLast = lines[at + 1]?.startsWith("\\") === true
    return [`${line.slice(1)}${isLast ? "" : "\n"}`]
  })
  return text.join("")
}

/** `path` is absolute. A patch without hunks is shown as a text. */
export const patchDiffs = (path: string, patch: string): ReadonlyArray<ToolCallContent> => {
  const hunks = parsePatch(patch)
  if (hunks === undefined) return [textContent(codeBlock(patch, "diff"))]
  return hunks.map(({ lines, oldLines }) => ({
    type: "diff",
    path,
    oldText: oldLines === 0 ? null : side(lines, "+"),
    newText: side(lines, "-")
  }))
}
