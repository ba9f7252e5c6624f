/** `/client/uploads`: files for messages, stored as they arrive, and read back as downloads. */
import { PermissionDenied, UnsupportedMediaType } from "@corral/domain/errors/Failures"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { UPLOADS_PATH } from "@corral/domain/hub-api/Uploads"
import { Attachment } from "@corral/domain/session/Attachment"
import { ACCEPTED_FILES, attachmentMediaTypeOf } from "@corral/domain/session/AttachmentRules"
import { attachmentHeaders } from "@corral/service/http/Attachment"
import { Effect, type Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Uploads } from "../attachment/Uploads.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { keyedWrite, withErrorObjects } from "./Handlers.ts"

export const uploadEndpoints = HttpApiBuilder.group(
  HubApi,
  "uploads",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* HubAuthority
    const uploads = yield* Uploads
    const write = yield* keyedWrite

    return handlers.handleAll({
      create: Effect.fnUntraced(
        function* ({ headers, payload: content, query: { name }, request }) {
          const { userId } = yield* CurrentPrincipal
          const mediaType = attachmentMediaTypeOf(request.headers["content-type"] ?? "")
          if (mediaType === undefined) return yield* new UnsupportedMediaType({ message: ACCEPTED_FILES })
          const file = {
            userId,
            name,
            mediaType,
            announcedBytes: lengthOf(request.headers["content-length"])
          }
          // The contract sets no limit, so the stream does not fail.
          const received = yield* uploads.receive(file, content as Stream.Stream<Uint8Array>)
          const { bytes, sha256 } = received
          const keyed = {
            scope: `${userId} POST ${UPLOADS_PATH}`,
            headers,
            payload: { name, mediaType, bytes, sha256 },
            response: Attachment
          }
          return yield* write(keyed, uploads.complete(received))
        },
        Effect.scoped,
        withErrorObjects
      ),

      content: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        const upload = yield* uploads.find(id)
        if (upload === undefined) return yield* new PermissionDenied()
        const { attachment, sessionId } = upload
        if (sessionId !== undefined) yield* authority.inSession("project.read", sessionId)
        else if (upload.userId !== userId) return yield* new PermissionDenied()
        const { bytes, mediaType } = attachment
        return HttpServerResponse.stream(uploads.content(id), {
          contentType: mediaType.startsWith("text/") ? `${mediaType}; charset=utf-8` : mediaType,
          contentLength: bytes,
          headers: attachmentHeaders(attachment)
        })
      }, withErrorObjects)
    })
  })
)

const lengthOf = (header: string | undefined): number | undefined =>
  header === undefined ? undefined : Number(header)
