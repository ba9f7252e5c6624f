/**
 * Content of the Agent Client Protocol: texts and diffs of a run for the editor, and a prompt of the editor as a message with its files.
 *
 * Guarantees: nothing of a prompt is left out in silence. Content that a message cannot have fails with a sentence.
 * Does not: open the address of a link.
 */
import type {
  ContentBlock,
  EmbeddedResourceResource,
  SessionUpdate,
  ToolCallContent
} from "@agentclientprotocol/sdk"
import { parsePatch } from "@corral/domain/edge-api/ParsedPatch"
import { MAX_PROMPT_BYTES } from "@corral/domain/run/Run"
import { MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS } from "@corral/domain/session/AttachmentRules"
import { Effect } from "effect"
import { localFile, type LocalFile } from "../attachment/LocalFile.ts"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import type { Row } from "../terminal/Rows.ts"

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

export interface PromptMessage {
  readonly text: string
  readonly files: ReadonlyArray<LocalFile>
}

interface EncodedFile {
  readonly name: string
  readonly data: string
}

const imageNames: Readonly<Record<string, string>> = {
  "image/png": "image.png",
  "image/jpeg": "image.jpg",
  "image/gif": "image.gif",
  "image/webp": "image.webp"
}

/** Last part of an address, as the name of a file. */
const nameOf = (uri: string, otherwise: string): string => {
  const path = URL.canParse(uri) ? new URL(uri).pathname : uri
  const last = path.split(/[/\\]/).at(-1) ?? ""
  try {
    return decodeURIComponent(last).slice(0, 200) || otherwise
  } catch {
    return last.slice(0, 200) || otherwise
  }
}

const resourceText = ({ text, uri }: { readonly text: string; readonly uri: string }): string =>
  `${uri}:\n${codeBlock(text)}`

type Part = { readonly text: string } | { readonly file: EncodedFile } | { readonly problem: string }

const resourcePart = (resource: EmbeddedResourceResource): Part =>
  "text" in resource
    ? { text: resourceText(resource) }
    : { file: { name: nameOf(resource.uri, "file"), data: resource.blob } }

const partOf = (block: ContentBlock): Part => {
  switch (block.type) {
    case "text":
      return { text: block.text }
    case "resource_link":
      return { text: `[${block.title ?? block.name}](${block.uri})` }
    case "resource":
      return resourcePart(block.resource)
    case "image":
      return {
        file: {
          name: nameOf(block.uri ?? "", imageNames[block.mimeType] ?? "image"),
          data: block.data
        }
      }
    case "audio":
      return { problem: "A message cannot have audio. Send a text." }
  }
}

const isBase64 = (data: string): boolean => data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data)

const decodeFile = Effect.fnUntraced(function* ({ data, name }: EncodedFile) {
  if (data.length > (MAX_ATTACHMENT_BYTES * 4) / 3 + 4)
    return yield* refused(`${name} is larger than ${MAX_ATTACHMENT_BYTES / 1_048_576} MiB.`)
  if (!isBase64(data)) return yield* refused(`The content of ${name} is not base64.`)
  return yield* localFile(name, Buffer.from(data, "base64"))
})

/** `acceptsFiles`: whether the service stores files of messages. An Edge alone does not. */
export const promptMessage = Effect.fn("Content.read")(function* (
  blocks: ReadonlyArray<ContentBlock>,
  acceptsFiles: boolean
): Effect.fn.Return<PromptMessage, CommandFailed> {
  const parts = blocks.map(partOf)
  for (const part of parts) if ("problem" in part) return yield* refused(part.problem)
  const encoded = parts.flatMap((part) => ("file" in part ? [part.file] : []))
  if (encoded.length > 0 && !acceptsFiles)
    return yield* refused(
      "An Edge alone takes no images and no binary files. Use `corral acp --hub`, or name the file in the text."
    )
  if (encoded.length > MAX_ATTACHMENTS)
    return yield* refused(`A message can have up to ${MAX_ATTACHMENTS} files.`)
  const text = parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n\n")
  if (Buffer.byteLength(text) > MAX_PROMPT_BYTES)
    return yield* refused(
      `The prompt is longer than ${MAX_PROMPT_BYTES / 1_024} KiB. Shorten it, or link to a file instead of its content.`
    )
  if (text.trim() === "") return yield* refused("The prompt has no text. Write what the agent should do.")
  return { text, files: yield* Effect.forEach(encoded, decodeFile) }
})
