/** `/client/usage` and `/client/projects/{id}/limits`: what runs have used, and what they may use per day. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { MAX_CSV_ROWS } from "@corral/domain/usage/UsageReport"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { validationFailure } from "../run/OfferRefusal.ts"
import { UsageLimits } from "../usage/UsageLimits.ts"
import { usageCsv, UsageReports, type UsageRequest } from "../usage/UsageReports.ts"
import { withErrorObjects } from "./Handlers.ts"

export const usageEndpoints = HttpApiBuilder.group(
  HubApi,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const limits = yield* UsageLimits
    const reports = yield* UsageReports

    const report = Effect.fnUntraced(function* (request: UsageRequest, most?: number) {
      const { userId: reader } = yield* CurrentPrincipal
      if (request.projectId !== undefined) yield* authority.inProject("project.read", request.projectId)
      return yield* reports.report(reader, request, most)
    })

    return handlers.handleAll({
      report: Effect.fnUntraced(function* ({ query }) {
        return yield* report(query)
      }, withErrorObjects),

      csv: Effect.fnUntraced(function* ({ query }) {
        const { from, to, truncated, ...rest } = yield* report(query, MAX_CSV_ROWS)
        if (truncated === true)
          return yield* validationFailure(
            "by",
            `Expected at most ${MAX_CSV_ROWS} rows. Choose fewer days or groups`
          )
        return HttpServerResponse.stream(Stream.encodeText(Stream.succeed(usageCsv(rest))), {
          contentType: "text/csv; charset=utf-8",
          headers: { "content-disposition": `attachment; filename="usage-${from}-${to}.csv"` }
        })
      }, withErrorObjects),

      limits: Effect.fnUntraced(function* ({ params: { id } }) {
        return yield* limits.get(yield* authority.inProject("project.read", id))
      }, withErrorObjects),

      setLimit: Effect.fnUntraced(function* ({ params: { id, subject }, payload }) {
        const proof = yield* authority.inProject("policy.manage", id)
        const auditedAction = {
          action: "limit.set",
          resource: resourceOf(id, subject),
          projectId: id
        } as const
        return yield* audit.perform(auditedAction, limits.set(proof, subject, payload))
      }, withErrorObjects),

      removeLimit: Effect.fnUntraced(function* ({ params: { id, subject } }) {
        const proof = yield* authority.inProject("policy.manage", id)
        const auditedAction = {
          action: "limit.remove",
          resource: resourceOf(id, subject),
          projectId: id
        } as const
        yield* audit.perform(auditedAction, limits.remove(proof, subject))
      }, withErrorObjects)
    })
  })
)

/** The person whose limit it is, otherwise the project. */
const resourceOf = (projectId: string, subject: string): string =>
  subject === "everyone" || subject === "each" ? projectId : subject
