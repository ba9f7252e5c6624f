/** `/client/sessions/{id}/read` and `…/export`: reading marks and exports of conversations. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { ExportFormat } from "@corral/domain/session/Conversation"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { ReadPositions } from "../conversation/ReadPositions.ts"
import { SessionExport } from "../conversation/SessionExport.ts"
import { Sessions } from "../session/Sessions.ts"
import { withErrorObjects } from "./ErrorObjects.ts"

const files: Readonly<Record<ExportFormat, { readonly contentType: string; readonly extension: string }>> = {
  markdown: { contentType: "text/markdown; charset=utf-8", extension: "md" },
  json: { contentType: "application/json", extension: "json" }
}

export const conversationEndpoints = HttpApiBuilder.group(
  HubApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* HubAuthority
    const exports = yield* SessionExport
    const positions = yield* ReadPositions
    const sessions = yield* Sessions

    return handlers.handleAll({
      read: Effect.fnUntraced(function* ({ params: { id }, payload: { messageId } }) {
        return yield* positions.markRead(yield* authority.inSession("project.read", id), id, messageId)
      }, withErrorObjects),

      export: Effect.fnUntraced(function* ({ params: { id }, query: { format } }) {
        const proof = yield* authority.inSession("project.read", id)
        const session = yield* sessions.get(proof, id)
        const { contentType, extension } = files[format]
        return HttpServerResponse.stream(Stream.encodeText(exports.document(proof, session, format)), {
          contentType,
          headers: { "content-disposition": `attachment; filename="${id}.${extension}"` }
        })
      }, withErrorObjects)
    })
  })
)
