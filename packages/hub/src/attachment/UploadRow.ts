/** Codecs of the tables `uploads`, `upload_pieces` and `session_uploads`. */
import { AttachmentId, SessionId, UserId } from "@corral/domain/identity/Ids"
import { type Attachment, AttachmentMediaType } from "@corral/domain/session/Attachment"
import { Schema } from "effect"
import { storedRows } from "../store/StoredRows.ts"

const UploadRow = Schema.Struct({
  id: AttachmentId,
  name: Schema.String,
  media_type: AttachmentMediaType,
  bytes: Schema.Int,
  sha256: Schema.String
})

export const UPLOAD_COLUMNS = Object.keys(UploadRow.fields).join(", ")

/** Uploads whose bytes are stored. */
export const uploadRows = storedRows("uploads", UploadRow)

/** An upload with its user, and the first of the sessions that have it. */
export const ownedUploadRows = storedRows(
  "uploads",
  Schema.Struct({ ...UploadRow.fields, user_id: UserId, session_id: Schema.NullOr(SessionId) })
)

export const unsentTotalRows = storedRows("uploads", Schema.Struct({ files: Schema.Int, bytes: Schema.Int }))

/** `bytes` is NULL beyond the end of the file. */
export const pieceRows = storedRows(
  "upload_pieces",
  Schema.Struct({ bytes: Schema.NullOr(Schema.Uint8Array) })
)

export const attachmentOf = (row: typeof UploadRow.Type): Attachment => ({
  id: row.id,
  name: row.name,
  mediaType: row.media_type,
  bytes: row.bytes,
  sha256: row.sha256
})
