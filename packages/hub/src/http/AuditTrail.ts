/** `/client/audit`: a project's trail for its admins; without a project, the caller's actions and actions on the caller's resources. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { AuditRecord } from "@corral/domain/access/Audit"
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { pageOf } from "@corral/service/http/Paged"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { AuditTrail } from "../audit/AuditTrail.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { decodePosition, encodePosition } from "../store/ListPage.ts"
import { withErrorObjects } from "./Handlers.ts"

export const auditEndpoints = HttpApiBuilder.group(
  HubApi,
  "audit",
  Effect.fnUntraced(function* (handlers) {
    const authority = yield* HubAuthority
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
          return yield* pageOf(
            list,
            ({ at, id }: AuditRecord) => encodePosition(at, id),
            (before, limit) =>
              trail.listOfUser(
                userId,
                filter,
                before === undefined ? undefined : decodePosition(before),
                limit
              )
          )
        const proof = yield* authority.inProject("audit.read", projectId)
        return yield* pageOf(
          list,
          ({ at, seq }: AuditRecord) => encodePosition(at, String(seq)),
          (before, limit) =>
            trail.list(proof, filter, before === undefined ? undefined : decodePosition(before), limit)
        )
      }, withErrorObjects),

      export: Effect.fnUntraced(function* ({ query: { projectId } }) {
        const { userId } = yield* CurrentPrincipal
        const scope =
          projectId === undefined ? { reader: userId } : yield* authority.inProject("audit.read", projectId)
        const lines = Stream.map(trail.records(scope), (record) => `${JSON.stringify(record)}\n`)
        return HttpServerResponse.stream(Stream.encodeText(lines), {
          contentType: "application/x-ndjson",
          headers: { "content-disposition": `attachment; filename="audit-${projectId ?? userId}.jsonl"` }
        })
      }, withErrorObjects),

      verify: Effect.fnUntraced(function* ({ query: { projectId } }) {
        // Anyone may see the length and the integrity of the chain without a project.
        const chain =
          projectId === undefined
            ? ("no project" as const)
            : yield* authority.inProject("audit.read", projectId)
        return yield* trail.verify(chain)
      }, withErrorObjects)
    })
  })
)

/** Time in the format of the records, so text comparison orders by time. */
const timeOf = Effect.fnUntraced(function* (path: string, text: string | undefined) {
  if (text === undefined) return undefined
  const at = new Date(text)
  return Number.isNaN(at.getTime())
    ? yield* new SchemaValidationFailed({
        details: { issues: [{ path, message: "Expected an ISO 8601 time" }] }
      })
    : at.toISOString()
})
