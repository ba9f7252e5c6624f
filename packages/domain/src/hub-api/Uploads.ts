/** Uploads of files for messages, and their content. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { responses } from "../errors/ErrorTable.ts"
import { createdResponse, idempotencyHeaders } from "../http/Writes.ts"
import { RequestIds, SchemaErrors } from "../http/RequestContext.ts"
import { AttachmentId } from "../identity/Ids.ts"
import { Attachment, AttachmentMediaType, AttachmentName } from "../session/Attachment.ts"
import { SessionAuthority } from "./SessionAuthority.ts"

/** Path of uploads: the only one whose body is a file. */
export const UPLOADS_PATH = "/client/uploads"

export class HubUploads extends HttpApiGroup.make("uploads")
  .add(
    HttpApiEndpoint.post("create", UPLOADS_PATH, {
      headers: idempotencyHeaders,
      query: { name: AttachmentName },
      // The Hub limits the size itself, with its own error object.
      payload: HttpApiSchema.StreamUint8Array({ contentType: AttachmentMediaType.literals }),
      success: Attachment.pipe(createdResponse),
      error: responses(
        "conflict",
        "payload_too_large",
        "unsupported_media_type",
        "schema_validation_failed",
        "idempotency_conflict",
        "idempotency_in_flight"
      )
    })
      .annotate(RequiredAuthority, "session.open")
      .annotate(KeyScope, "write")
      .annotate(
        OpenApi.Description,
        "Stores a file of at most 20 MiB for a message of the caller. The bytes must be of the type in `Content-Type`. A file that no message " +
          "refers to is deleted after 24 hours. Fails with `conflict` while the caller has too many such files, and with `payload_too_large` if the " +
          "caller's files of 24 hours exceed 2 GiB: `details` has `quota`, `usedBytes`, `bytes` and `limitBytes`."
      ),
    HttpApiEndpoint.get("content", `${UPLOADS_PATH}/:id`, {
      params: { id: AttachmentId },
      success: HttpApiSchema.StreamUint8Array({ contentType: AttachmentMediaType.literals }),
      error: responses("permission_denied")
    })
      .annotate(RequiredAuthority, "project.read")
      .annotate(KeyScope, "read")
      .annotate(
        OpenApi.Description,
        "The bytes of a file, as a download. Before a message refers to the file, only its uploader can read it."
      )
  )
  .middleware(SchemaErrors)
  .middleware(SessionAuthority)
  .middleware(RequestIds) {}
