/** `/client/sessions/{id}/read`, `…/export` and `…/fork`: reading marks, exports and forks of conversations. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { ExportFormat } from "@corral/domain/session/Conversation"
import { Session } from "@corral/domain/session/Session"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { ReadPositions } from "../conversation/ReadPositions.ts"
import { SessionExport } from "../conversation/SessionExport.ts"
import { SessionFork } from "../conversation/SessionFork.ts"
import { Sessions } from "../session/Sessions.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { keyedWrite } from "./KeyedWrite.ts"

const files: Readonly<Record<ExportFormat, { readonly contentType: string; readonly extension: string }>> = {
  markdown: { contentType: "text/markdown; charset=utf-8", extension: "md" },
  json: { contentType: "application/json", extension: "json" }
}

export const conversationEndpoints = HttpApiBuilder.group(
  HubApi,
  "conversations",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const exports = yield* SessionExport
    const forks = yield* SessionFork
    const writeOnce = yield* keyedWrite
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
      }, withErrorObjects),

      fork: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const proof = yield* authority.inSession("session.write", id)
        const request = {
          scope: `${proof.principal} POST /client/sessions/${id}/fork`,
          headers,
          payload,
          response: Session
        }
        const auditedAction = { action: "session.write", resource: id, projectId: proof.projectId } as const
        const write = Effect.flatMap(forks.fork(proof, id, payload.messageId), (fork) =>
          sessions.get(proof, fork)
        )
        return yield* writeOnce(
          request,
          audit.perform(auditedAction, write, (fork: Session) => ({ resource: fork.id }))
        )
      }, withErrorObjects)
    })
  })
)
