/**
 * Content blocks of messages and tool results: what a text can show, and what becomes an artifact. Also the extensions of their files, by media type.
 *
 * Guarantees: an image, a recording or an embedded file is never dropped in silence. One that is too large is named in the text.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import { Buffer } from "node:buffer"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { objectOf, textOf } from "../text/Json.ts"

// Extensions of the files in messages and results of tools, by media type.

const extensions: Readonly<Record<string, string>> = {
  "application/pdf": ".pdf",
  "audio/mpeg": ".mp3",
  "audio/ogg": ".ogg",
  "audio/wav": ".wav",
  "image/gif": ".gif",
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/svg+xml": ".svg",
  "image/webp": ".webp"
}

/** The extension with its dot; empty for other media types. */
export const extensionOf = (mediaType: string): string => extensions[mediaType] ?? ""

/** Fields of a JSON object whose values are not checked. */
type Fields<Names extends string> = { readonly [Name in Names]?: unknown }

/** Block of ACP or of MCP. */
type Block = Fields<"data" | "mimeType" | "name" | "resource" | "text" | "title" | "type" | "uri">

export type BlockFile = Pick<
  Extract<AdapterOutput, { readonly _tag: "Artifact" }>,
  "name" | "mediaType" | "content"
>

/** Maximum size of an artifact. */
const MAX_BYTES = 50 * 1024 * 1024
const MAX_NAME = 200

const mediaTypeOf = (type: unknown, otherwise: string): string => {
  const text = textOf(type)
  return text !== undefined && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(text) ? text : otherwise
}

/** The last part of an address, as the name of a file. */
const nameIn = (uri: unknown): string | undefined => {
  const last = textOf(uri)
    ?.split(/[?#]/, 1)[0]
    ?.split("/")
    .findLast((part) => part !== "")
  return last === undefined ? undefined : firstCharacters(last, MAX_NAME)
}

const mediaFile = (kind: "image" | "audio", block: Block): BlockFile | undefined => {
  const data = textOf(block.data)
  if (data === undefined || data === "") return undefined
  const mediaType = mediaTypeOf(block.mimeType, kind === "image" ? "image/png" : "audio/wav")
  const name = nameIn(block.uri) ?? `${kind}${extensionOf(mediaType)}`
  return { name, mediaType, content: Buffer.from(data, "base64") }
}

const resourceFile = (resource: unknown): BlockFile | undefined => {
  const { blob, mimeType, text, uri }: Fields<"blob" | "mimeType" | "text" | "uri"> = objectOf(resource)
  const name = nameIn(uri) ?? "resource"
  if (typeof text === "string") return { name, mediaType: mediaTypeOf(mimeType, "text/plain"), content: text }
  const data = textOf(blob)
  if (data === undefined) return undefined
  const mediaType = mediaTypeOf(mimeType, "application/octet-stream")
  return { name, mediaType, content: Buffer.from(data, "base64") }
}

const isTooLarge = ({ content }: BlockFile): boolean => Buffer.byteLength(content) > MAX_BYTES

/** What a block shows: a text, or a file; `undefined` for a block that is not understood. */
export const readBlock = (
  block: unknown
): { readonly text: string } | { readonly file: BlockFile } | undefined => {
  const fields: Block = objectOf(block)
  switch (fields.type) {
    case "text":
      return typeof fields.text === "string" ? { text: fields.text } : undefined
    case "resource_link": {
      const uri = textOf(fields.uri)
      const name = textOf(fields.title) ?? textOf(fields.name) ?? uri
      return uri === undefined ? undefined : { text: name === uri ? uri : `${name}: ${uri}` }
    }
    case "image":
    case "audio":
      return toFile(mediaFile(fields.type, fields))
    case "resource":
      return toFile(resourceFile(fields.resource))
    default:
      return undefined
  }
}

const toFile = (file: BlockFile | undefined) => {
  if (file === undefined) return undefined
  return isTooLarge(file) ? { text: `${file.name} is too large to be kept.` } : { file }
}
