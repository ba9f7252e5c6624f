/** Media type of a whole file by its content: announced types and names of images say nothing. */
import type { AttachmentMediaType } from "./Attachment.ts"
import { contentCheck } from "./ContentCheck.ts"

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
