/**
 * Media types of files by their content: the check, piece by piece, that bytes are of their declared type, and the type of a whole file. Announced
 * types and names of images say nothing.
 *
 * Guarantees: an image or a PDF document begins with the signature of its type, and a text is UTF-8 without U+0000.
 * Does not: decode images or documents.
 */
import type { AttachmentMediaType } from "./Attachment.ts"

/** A check of one file. */
export interface ContentCheck {
  /** Whether the file can be of its type so far. */
  readonly accepts: (piece: Uint8Array) => boolean
  /** Whether the whole file is of its type. */
  readonly isComplete: () => boolean
}

type Signature = ReadonlyArray<readonly [offset: number, text: string]>

/** Bytes as characters of Latin-1, by their position. A file has all of one signature. */
const signatures: Partial<Record<AttachmentMediaType, ReadonlyArray<Signature>>> = {
  "image/png": [[[0, "\x89PNG\r\n\x1a\n"]]],
  "image/jpeg": [[[0, "\xff\xd8\xff"]]],
  "image/gif": [[[0, "GIF87a"]], [[0, "GIF89a"]]],
  "image/webp": [
    [
      [0, "RIFF"],
      [8, "WEBP"]
    ]
  ],
  "application/pdf": [[[0, "%PDF-"]]]
}

/** Longest signature. */
const HEAD_BYTES = 12

const matches = (head: string, signature: Signature): boolean =>
  signature.every(([offset, text]) => head.startsWith(text, offset))

const signatureCheck = (alternatives: ReadonlyArray<Signature>): ContentCheck => {
  let head = ""
  const isMatch = () => alternatives.some((signature) => matches(head, signature))
  return {
    accepts: (piece) => {
      if (head.length >= HEAD_BYTES) return true
      head += String.fromCharCode(...piece.subarray(0, HEAD_BYTES - head.length))
      return head.length < HEAD_BYTES || isMatch()
    },
    isComplete: isMatch
  }
}

const textCheck = (): ContentCheck => {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  const decodes = (piece?: Uint8Array): boolean => {
    try {
      decoder.decode(piece, { stream: piece !== undefined })
      return true
    } catch {
      return false
    }
  }
  return { accepts: (piece) => !piece.includes(0) && decodes(piece), isComplete: () => decodes() }
}

export const contentCheck = (mediaType: AttachmentMediaType): ContentCheck => {
  const alternatives = signatures[mediaType]
  return alternatives === undefined ? textCheck() : signatureCheck(alternatives)
}

const signedTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"] as const

/** Kinds of text, by the end of the name. */
const textTypes = new Map<string, AttachmentMediaType>([
  [".md", "text/markdown"],
  [".markdown", "text/markdown"],
  [".csv", "text/csv"],
  [".json", "application/json"]
])

const isOfType = (content: Uint8Array, mediaType: AttachmentMediaType): boolean => {
  const check = contentCheck(mediaType)
  return check.accepts(content) && check.isComplete()
}

/** `undefined` if it is neither an accepted image, nor a PDF document, nor text. */
export const fileMediaType = (name: string, content: Uint8Array): AttachmentMediaType | undefined => {
  const dot = name.lastIndexOf(".")
  // A name that begins with its only dot has no ending.
  const textType = (dot > 0 ? textTypes.get(name.slice(dot).toLowerCase()) : undefined) ?? "text/plain"
  return [...signedTypes, textType].find((mediaType) => isOfType(content, mediaType))
}
