/** Which files a message can have, for services and clients. Without schemas: a page loads little. */

/** Largest file, in bytes. */
export const MAX_ATTACHMENT_BYTES = 20 * 1_048_576
/** A refused body is read and dropped up to this size: its sender would lose the reason with a connection that closes earlier. */
export const MAX_DROPPED_BYTES = MAX_ATTACHMENT_BYTES + 8 * 1_048_576
/** Largest number of files of one message. */
export const MAX_ATTACHMENTS = 10

/** Accepted media types. Send other kinds of text as `text/plain`. */
export const attachmentMediaTypes = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
  "text/plain",
  "text/markdown",
  "text/csv",
  "application/json"
] as const

/** What to send instead of a file of another type. */
export const ACCEPTED_FILES = "Send an image (PNG, JPEG, GIF or WebP), a PDF document, or text as text/plain."

/** Media type of a `Content-Type` header without its parameters, if it is accepted. */
export const attachmentMediaTypeOf = (
  contentType: string
): (typeof attachmentMediaTypes)[number] | undefined => {
  const [mediaType = ""] = contentType.toLowerCase().split(";", 1)
  return attachmentMediaTypes.find((accepted) => accepted === mediaType.trim())
}

export const isImage = ({ mediaType }: { readonly mediaType: string }): boolean =>
  mediaType.startsWith("image/")
