/**
 * Files of messages: images, PDF documents and text. A file is uploaded first, and belongs to its uploader until a message refers to it.
 *
 * Does not: contain bytes. A Hub stores them, and an Edge gets a copy before a run that receives the message.
 */
import { Schema } from "effect"
import { AttachmentId } from "../identity/Ids.ts"
import { oneLine } from "../text/Text.ts"
import { attachmentMediaTypes, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS } from "./AttachmentRules.ts"

/** Accepted media types. Send other kinds of text as `text/plain`. */
export const AttachmentMediaType = Schema.Literals(attachmentMediaTypes)
export type AttachmentMediaType = typeof AttachmentMediaType.Type

/** Name of a file without a folder, for people. */
export const AttachmentName = oneLine(200).check(
  Schema.isPattern(/^[^/\\]+$/u, { expected: "a file name without a folder" }),
  Schema.makeFilter((name: string) => name !== "." && name !== "..", { expected: "the name of a file" })
)

/** A file of a message. */
export const Attachment = Schema.Struct({
  id: AttachmentId,
  name: Schema.String,
  mediaType: AttachmentMediaType,
  /** Size of the file. */
  bytes: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_ATTACHMENT_BYTES })),
  /** SHA-256 of the file in hexadecimal. */
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/u, { expected: "a SHA-256 in hexadecimal" }))
}).annotate({ identifier: "Attachment" })
export type Attachment = typeof Attachment.Type

/** Files for one message, by their ids. */
export const AttachmentIds = Schema.Array(AttachmentId).check(
  Schema.isMaxLength(MAX_ATTACHMENTS),
  Schema.isUnique()
)
