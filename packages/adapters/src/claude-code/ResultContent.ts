/**
 * Images and documents in the result of a tool call, as files of the run.
 *
 * Guarantees: a file that cannot be decoded, or is larger than an artifact may be, is left out.
 */
import { Buffer } from "node:buffer"
import { extensionOf } from "../output/FileExtension.ts"
import { arrayOf, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"

/** Largest file of a run, in characters of base64: 50 MiB. */
const MAX_CHARACTERS = 70_000_000

interface ResultFile {
  readonly name: string
  readonly mediaType: string
  readonly content: Uint8Array
}

const nameIn = (input: JsonObject): string | undefined =>
  textOf(input["file_path"])
    ?.split(/[\\/]/)
    .findLast((part) => part !== "")

/** Whether a block of a result becomes a file. */
export const isFileBlock = (block: JsonObject): boolean => {
  const source = objectOf(block["source"])
  const data = textOf(source["data"])
  return (
    (block["type"] === "image" || block["type"] === "document") &&
    source["type"] === "base64" &&
    data !== undefined &&
    data !== "" &&
    data.length <= MAX_CHARACTERS &&
    /^[\w.+-]+\/[\w.+-]+$/.test(textOf(source["media_type"]) ?? "")
  )
}

/** The files of a result. `input`: input of its call, which names the file that was read. */
export const filesOfResult = (content: unknown, input: JsonObject): ReadonlyArray<ResultFile> =>
  arrayOf(content)
    .filter(isJsonObject)
    .filter(isFileBlock)
    .map((block, at) => {
      const source = objectOf(block["source"])
      const mediaType = textOf(source["media_type"]) ?? ""
      const numbered = `${textOf(block["type"]) ?? "file"}-${at + 1}${extensionOf(mediaType)}`
      return {
        name: (at === 0 ? nameIn(input) : undefined) ?? numbered,
        mediaType,
        content: new Uint8Array(Buffer.from(textOf(source["data"]) ?? "", "base64"))
      }
    })
