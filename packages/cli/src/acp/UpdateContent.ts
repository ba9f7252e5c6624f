/**
 * Texts and diffs of a run as content of the Agent Client Protocol. A diff shows one hunk of a patch, because the rest of the file is not known.
 */
import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk"
import { parsePatch } from "@corral/domain/edge-api/ParsedPatch"
import type { Row } from "../terminal/WrapText.ts"

/** Rows without colours. */
export const plainRows = (rows: ReadonlyArray<Row>): string =>
  rows.map((row) => row.map(({ text }) => text).join("")).join("\n")

export const textBlock = (text: string): ContentBlock => ({ type: "text", text })

export const textContent = (text: string): ToolCallContent => ({ type: "content", content: textBlock(text) })

/** A paragraph of Corral between the messages of the agent. Clients that join all chunks show it as a paragraph, too. */
export const paragraph = (messageId: string, text: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: textBlock(`\n\n${text}\n\n`)
})

/** A text in a code block whose fence is longer than each fence inside. */
export const codeBlock = (text: string, language = ""): string => {
  let longest = 2
  for (const [fence] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, fence.length)
  const fence = "`".repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`
}

const side = (lines: ReadonlyArray<string>, omitted: "+" | "-"): string => {
  const text = lines.flatMap((line, at) => {
    if (line.startsWith("\\") || line.startsWith(omitted)) return []
    const isLast = lines[at + 1]?.startsWith("\\") === true
    return [`${line.slice(1)}${isLast ? "" : "\n"}`]
  })
  return text.join("")
}

/**
 * Diffs of the Agent Client Protocol from a unified patch: one for each hunk, because the rest of the file is not known. `path` is absolute. A
 * patch without hunks is shown as a text.
 */
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
