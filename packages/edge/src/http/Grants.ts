/** `/v1/grants`: what is remembered, to be seen and taken back. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Grants } from "../approval/Grants.ts"
import { LOCAL_PRINCIPAL } from "./Principal.ts"
import { idPosition, pageOf } from "@corral/service/http/Paged"

export const grants = HttpApiBuilder.group(
  EdgeApi,
  "grants",
  Effect.fnUntraced(function* (handlers) {
    const stored = yield* Grants
    return handlers.handleAll({
      list: ({ query: { cursor, limit, workspace } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: `grants ${workspace ?? ""}`, cursor, limit },
          idPosition,
          (after, limit) => Effect.sync(() => stored.page({ after, workspace, limit }))
        ).pipe(withErrorObject),

      remove: ({ params }) => withErrorObject(stored.remove(params.id))
    })
  })
)
