/**
 * Markdown of an exported conversation.
 *
 * Guarantees: no text, title or name changes the structure of the document. A text is a code block whose fence is longer than any run of
 * backticks in it; a title or a name is one line with all punctuation escaped.
 */
import type { Session } from "@corral/domain/session/Session"
import type { ExportedMessage } from "./ExportedMessageRow.ts"

/** Characters that reverse the direction of later text, outside of their line too in some viewers. */
const direction = /[\u202a-\u202e\u2066-\u2069]/g

/** One line whose characters mean themselves. */
export const escapeInline = (text: string): string =>
  text
    .replace(direction, "")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .replace(/[!-/:-@[-`{-~]/g, "\\$&")

/** A code block with exactly this text. */
export const codeBlock = (text: string): string => {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const fence = "`".repeat(longest + 1)
  return `${fence}text\n${text}\n${fence}`
}

export const markdownHead = ({ id, projectId, title }: Pick<Session, "id" | "projectId" | "title">): string =>
  `# ${escapeInline(title)}\n\n- Session: ${id}\n- Project: ${projectId}\n`

export const markdownMessage = ({
  attachments = [],
  author,
  createdAt,
  run,
  text
}: ExportedMessage): string => {
  const runLine = run === undefined ? "" : `\n- Run: ${run.id}, ${run.state}`
  const files = attachments.map(
    ({ bytes, id, mediaType, name }) => `\n- File: ${escapeInline(name)}, ${mediaType}, ${bytes} bytes, ${id}`
  )
  return (
    `\n## ${escapeInline(author.name)}\n\n- Author: ${author.kind} ${author.id}\n- Time: ${createdAt}${runLine}${files.join("")}\n\n` +
    `${codeBlock(text)}\n`
  )
}
