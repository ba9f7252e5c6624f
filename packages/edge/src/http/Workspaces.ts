/** `GET /v1/workspaces`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Workspaces } from "../workspace/Workspaces.ts"

export const workspaces = HttpApiBuilder.group(
  EdgeApi,
  "workspaces",
  Effect.fnUntraced(function* (handlers) {
    const allowed = yield* Workspaces
    return handlers.handleAll({
      list: () =>
        Effect.gen(function* () {
          return { items: yield* allowed.list, nextCursor: null, requestId: yield* CurrentRequestId }
        })
    })
  })
)
