/** `/client/audit`: a project's trail for its admins; without a project, what the caller did. */
import { HubApi } from "@corral/domain/HubApi"
import type { AuditRecord } from "@corral/domain/Audit"
import { PermissionDenied, SchemaValidationFailed } from "@corral/domain/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { byId, pageOf } from "@corral/service/http/Paged"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AuditTrail } from "../audit/AuditTrail.ts"
import { Authority } from "../authority/Authority.ts"
import { seqIn } from "../store/Position.ts"
import { answered } from "./Answered.ts"

export const auditTrail = HttpApiBuilder.group(
  HubApi,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* Authority
    const trail = yield* AuditTrail

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId, actor, action, from, to } }) {
        const { userId } = yield* CurrentPrincipal
        const filter = { actor, action, from: yield* timeOf("from", from), to: yield* timeOf("to", to) }
        const list = {
          filter: `audit ${JSON.stringify([projectId, filter])}`,
          principal: userId,
          cursor,
          limit
        }
        if (projectId === undefined)
          return yield* pageOf(list, byId, (before, limit) => trail.ofActor(userId, filter, before, limit))
        const proof = yield* authority.inProject("audit.read", projectId)
        return yield* pageOf(
          list,
          ({ seq }: AuditRecord) => String(seq),
          (before, limit) =>
            trail.list(proof, filter, before === undefined ? undefined : seqIn(before, 0), limit)
        )
      }, answered),

      export: Effect.fnUntraced(function* ({ query: { projectId } }) {
        const proof = yield* authority.inProject("audit.read", projectId)
        const lines = Stream.map(trail.records(proof), (record) => `${JSON.stringify(record)}\n`)
        return HttpServerResponse.stream(Stream.encodeText(lines), {
          contentType: "application/x-ndjson",
          headers: { "content-disposition": `attachment; filename="audit-${projectId}.jsonl"` }
        })
      }, answered),

      verify: Effect.fnUntraced(function* ({ query: { projectId } }) {
        // What belongs to no project is nobody's to verify over HTTP.
        if (projectId === undefined) return yield* new PermissionDenied()
        return yield* trail.verify(yield* authority.inProject("audit.read", projectId))
      }, answered)
    })
  })
)

/** As records carry their time, so that texts compare as times do. */
const timeOf = Effect.fnUntraced(function* (path: string, text: string | undefined) {
  if (text === undefined) return undefined
  const at = new Date(text)
  return Number.isNaN(at.getTime())
    ? yield* new SchemaValidationFailed({
        details: { issues: [{ path, message: "Expected an ISO 8601 time" }] }
      })
    : at.toISOString()
})
