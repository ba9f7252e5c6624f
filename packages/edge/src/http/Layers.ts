/** `GET /v1/layers` and `DELETE /v1/runs/{id}/layer`. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { LayerSummary } from "@corral/domain/edge-api/Layers"
import { NotFound } from "@corral/domain/errors/Failures"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Layers } from "../layer/Layers.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"

const byOwner = ({ runId }: LayerSummary): string => runId

export const layers = HttpApiBuilder.group(
  EdgeApi,
  "layers",
  Effect.fnUntraced(function* (handlers) {
    const runs = yield* RunSupervisor
    const layers = yield* Layers
    return handlers.handleAll({
      list: ({ query: { cursor, limit } }) =>
        pageOf({ principal: LOCAL_PRINCIPAL, filter: "layers", cursor, limit }, byOwner, (before, limit) =>
          Effect.sync(() => layers.list(before, limit))
        ).pipe(withErrorObject),

      remove: Effect.fnUntraced(function* ({ params, query: { force } }) {
        const { layer } = yield* runs.get(params.id)
        if (layer === undefined) return yield* new NotFound({ message: "This run has no layer." })
        yield* layers.remove(layer.owner, force === "true")
      }, withErrorObject)
    })
  })
)
