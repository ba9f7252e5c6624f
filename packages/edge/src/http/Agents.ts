/**
 * `GET /v1/agents`, `GET /v1/runners`, and the presets that they are made of: `GET` and `POST /v1/presets`, `PATCH` and `DELETE /v1/presets/{id}`.
 */
import { EdgeIdempotency, type ResultRows } from "../log/EdgeIdempotency.ts"
import { Presets } from "../runtime/Presets.ts"
import { Runtimes } from "../runtime/Runtimes.ts"
import { Store } from "../store/Store.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import type { Preset } from "@corral/domain/run/Preset"
import { pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"

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

/** Unique: the configuration file may have a preset of the same id. */
const positionOf = ({ id, source }: Preset): string => `${id} ${source === "file" ? 0 : 1}`

/** `GET` and `POST /v1/presets`, `PATCH` and `DELETE /v1/presets/{id}`. */
export const presets = HttpApiBuilder.group(
  EdgeApi,
  "presets",
  Effect.fnUntraced(function* (handlers) {
    const idempotency = yield* EdgeIdempotency
    const presets = yield* Presets
    const store = yield* Store
    return handlers.handleAll({
      list: ({ query: { cursor, limit } }) =>
        pageOf(
          { principal: LOCAL_PRINCIPAL, filter: "presets", cursor, limit },
          positionOf,
          (after = "", limit) =>
            Effect.map(presets.list, (all) =>
              all.filter((preset) => positionOf(preset) > after).slice(0, limit)
            )
        ).pipe(withErrorObject),

      create: Effect.fnUntraced(function* ({ headers, payload }) {
        const request = {
          scope: `${LOCAL_PRINCIPAL} POST /v1/presets`,
          key: headers["idempotency-key"],
          request: payload
        }
        const { body, replayed: again } = yield* idempotency.once(request, (keep: ResultRows<Preset>) =>
          presets
            .create(payload, LOCAL_PRINCIPAL)
            .pipe(Effect.tap((preset) => Effect.orDie(store.commit(keep(preset)))))
        )
        const location = `/v1/presets/${encodeURIComponent(body.id)}`
        return yield* markReplayed(HttpApiSchema.withHeaders({ body, headers: { location } }), again)
      }, withErrorObject),

      update: ({ params: { id }, payload: { settings } }) =>
        withErrorObject(presets.update(id, settings, LOCAL_PRINCIPAL)),

      remove: ({ params: { id } }) => withErrorObject(presets.remove(id, LOCAL_PRINCIPAL))
    })
  })
)
