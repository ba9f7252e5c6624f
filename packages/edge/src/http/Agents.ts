/** `GET /v1/agents`, `GET /v1/runners`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Runtimes } from "../runtime/Runtimes.ts"

export const agents = HttpApiBuilder.group(
  EdgeApi,
  "agents",
  Effect.fnUntraced(function* (handlers) {
    const runtimes = yield* Runtimes
    return handlers.handleAll({
      list: () =>
        Effect.gen(function* () {
          return { items: yield* runtimes.list, nextCursor: null, requestId: yield* CurrentRequestId }
        }),
      listRunners: () =>
        Effect.gen(function* () {
          return { items: yield* runtimes.runners, nextCursor: null, requestId: yield* CurrentRequestId }
        })
    })
  })
)
