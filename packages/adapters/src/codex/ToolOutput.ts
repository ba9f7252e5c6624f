/** Output of a tool: its texts, and the images and other files among its content. */
import { readBlock, type BlockFile } from "../output/ContentBlocks.ts"
import { arrayOf, objectOf, textOf, type JsonObject } from "../text/Json.ts"

export interface ToolOutput {
  readonly text?: string
  readonly files: ReadonlyArray<BlockFile>
}

/** A block of a dynamic tool has the names of the model service, and its media as `data:` address. */
const toBlock = (value: unknown): JsonObject => {
  const block = objectOf(value)
  const kind = { inputImage: "image", inputAudio: "audio", inputText: "text" }[textOf(block["type"]) ?? ""]
  if (kind === undefined) return block
  const url = textOf(block["imageUrl"]) ?? textOf(block["audioUrl"]) ?? ""
  const comma = url.indexOf(",")
  const mediaType = /^data:([^;,]{1,100});base64$/.exec(url.slice(0, Math.max(0, comma)))?.[1]
  if (mediaType === undefined) return { type: kind, text: block["text"] ?? `[${kind}]` }
  return { type: kind, mimeType: mediaType, data: url.slice(comma + 1) }
}

const contentOutput = (content: ReadonlyArray<unknown>): ToolOutput => {
  const texts: Array<string> = []
  const files: Array<BlockFile> = []
  for (const value of content) {
    const block = toBlock(value)
    const read = readBlock(block)
    if (read !== undefined && "file" in read) files.push(read.file)
    else texts.push(read?.text ?? textOf(block["text"]) ?? `[${textOf(block["type"]) ?? "unknown"}]`)
  }
  const hasText = texts.length > 0 || files.length === 0
  return { files, ...(hasText ? { text: texts.join("\n") } : {}) }
}

/** Output of an item. */
export const outputOf = (item: JsonObject): ToolOutput => {
  const error = textOf(objectOf(item["error"])["message"])
  if (error !== undefined) return { text: error, files: [] }
  const image = item["type"] === "imageGeneration" ? textOf(item["result"]) : undefined
  if (image !== undefined && image !== "")
    return contentOutput([{ type: "image", mimeType: "image/png", data: image }])
  const content = objectOf(item["result"])["content"] ?? item["contentItems"]
  if (Array.isArray(content)) return contentOutput(arrayOf(content))
  const text = textOf(item["aggregatedOutput"])
  return { files: [], ...(text === undefined ? {} : { text }) }
}
