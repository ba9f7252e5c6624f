/** What a file is to a message, and which files a paste has. */
import type { AttachmentMediaType } from "@corral/domain/session/Attachment"
import { MAX_ATTACHMENT_BYTES } from "@corral/domain/session/AttachmentRules"
import { fileMediaType } from "@corral/domain/session/ContentCheck"

/** Why a file is not uploaded. */
export type FileRefusal = "empty" | "tooLarge" | "type"

export type FileKind =
  | { readonly mediaType: AttachmentMediaType; readonly refusal?: never }
  | { readonly mediaType?: never; readonly refusal: FileRefusal }

/** Browsers announce many kinds of text by other types, or by none, so the content decides. */
export const fileKind = async (name: string, file: Blob): Promise<FileKind> => {
  if (file.size > MAX_ATTACHMENT_BYTES) return { refusal: "tooLarge" }
  if (file.size === 0) return { refusal: "empty" }
  const mediaType = fileMediaType(name, new Uint8Array(await file.arrayBuffer()))
  return mediaType === undefined ? { refusal: "type" } : { mediaType }
}

/** A name that the Hub accepts: one line, without a folder. */
export const attachmentName = (name: string): string => {
  const plain = name
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u2028\u2029\uFFFD/\\]/gu, "_")
    .slice(-200)
    .toWellFormed()
    .replaceAll("\uFFFD", "_")
  return plain === "" || plain === "." || plain === ".." ? "file" : plain
}

/** A longer pasted text becomes a file: a field with it is slow, and hides the rest of the message. */
const MAX_PASTED_BYTES = 8_192

/** The files of a paste: those of the clipboard, or its text where that is long. */
export const pastedFiles = (clipboard: Pick<DataTransfer, "files" | "getData">): ReadonlyArray<File> => {
  const files = [...clipboard.files]
  const text = clipboard.getData("text/plain")
  // Programs put a picture of a copied table beside its text.
  if (files.length > 0 && (text === "" || clipboard.getData("text/html") === "")) return files
  const file = new File([text], "pasted.txt", { type: "text/plain" })
  return file.size > MAX_PASTED_BYTES ? [file] : []
}
