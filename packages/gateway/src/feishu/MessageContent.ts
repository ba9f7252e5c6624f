/**
 * Parser of Feishu message content into plain text and attachments: text, post, image, file and audio. Any other type becomes a file, with
 * the type as its key if the content has none. Never throws.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { PayloadOf } from "@corral/domain/run/RunEvent"

type Attachment = NonNullable<PayloadOf<"integration.message.received">["attachments"]>[number]

export interface FeishuContent {
  readonly text: string
  readonly attachments: ReadonlyArray<Attachment>
}

/** Placeholders of mentioned users in the text, with the names that a reader sees. */
export type Mentions = ReadonlyMap<string, string>

type Json = Readonly<Record<string, unknown>>

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")

const parsed = (content: string): Json => {
  try {
    const value: unknown = JSON.parse(content)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** Text with names instead of keys such as `@_user_1` and `@_user_10`. */
const withNames = (text: string, mentions: Mentions): string =>
  text.replaceAll(/@_user_\d+/g, (key) => mentions.get(key) ?? key)

const attachment = (kind: Attachment["kind"], key: unknown, name?: unknown): ReadonlyArray<Attachment> =>
  typeof key === "string" && key !== ""
    ? [{ kind, key: plain(key), ...(typeof name === "string" ? { name: plain(name) } : {}) }]
    : []

/** Text that PostgreSQL can store. */
const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed()

const elementsOf = (post: Json): ReadonlyArray<ReadonlyArray<Json>> =>
  Array.isArray(post["content"])
    ? post["content"].map((line: unknown) => (Array.isArray(line) ? line.filter(isJsonObject) : []))
    : []

const elementText = (element: Json, mentions: Mentions): string => {
  if (element["tag"] === "at") return mentions.get(textOf(element["user_id"])) ?? ""
  const text = textOf(element["text"])
  const { href } = element
  return element["tag"] === "a" && typeof href === "string" && href !== text ? `${text} (${href})` : text
}

const elementAttachments = (element: Json): ReadonlyArray<Attachment> => {
  if (element["tag"] === "img") return attachment("image", element["image_key"])
  return element["tag"] === "media" ? attachment("file", element["file_key"], element["file_name"]) : []
}

const postOf = (post: Json, mentions: Mentions): FeishuContent => {
  const lines = elementsOf(post)
  const text = lines.map((line) => line.map((element) => elementText(element, mentions)).join(""))
  return {
    text: [textOf(post["title"]), ...text].filter((line, at) => at > 0 || line !== "").join("\n"),
    attachments: lines.flat().flatMap(elementAttachments)
  }
}

const read = (type: string, content: Json, mentions: Mentions): FeishuContent => {
  switch (type) {
    case "text":
      return { text: withNames(textOf(content["text"]), mentions), attachments: [] }
    case "post":
      return postOf(content, mentions)
    case "image":
      return { text: "", attachments: attachment("image", content["image_key"]) }
    case "file":
      return { text: "", attachments: attachment("file", content["file_key"], content["file_name"]) }
    case "audio":
      return { text: "", attachments: attachment("audio", content["file_key"]) }
    // A video, a sticker, a shared contact.
    default:
      return { text: "", attachments: attachment("file", content["file_key"] ?? type, content["file_name"]) }
  }
}

/** `content` is the JSON string in a message. */
export const readContent = (type: string, content: string, mentions: Mentions): FeishuContent => {
  const { attachments, text } = read(type, parsed(content), mentions)
  return { text: plain(text).trim(), attachments }
}
