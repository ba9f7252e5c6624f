/** Texts of a run as content of the Agent Client Protocol. */
import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk"
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
