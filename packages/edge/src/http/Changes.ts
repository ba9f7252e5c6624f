/** `/v1/runs/{id}/changes`: change sets of runs, and decisions about them. */
import { ORIGIN_HEADER } from "@corral/domain/approval/Approval"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { RunId } from "@corral/domain/identity/Ids"
import { decodeCursor, encodeCursor } from "@corral/domain/http/Page"
import { CurrentRequestId, withErrorObject } from "@corral/domain/http/RequestContext"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { Decide } from "../change/ChangeDecisions.ts"
import { Changes } from "../change/Changes.ts"
import { LOCAL_PRINCIPAL } from "./EdgeRequestPolicy.ts"
import { localDecisions } from "./Decisions.ts"

interface DecisionHeaders {
  readonly "idempotency-key"?: string
  readonly [ORIGIN_HEADER]?: "terminal" | "editor"
}

export const changes = HttpApiBuilder.group(
  EdgeApi,
  "changes",
  Effect.fnUntraced(function* (handlers) {
    const service = yield* Changes
    const decisions = yield* localDecisions

    /** A page whose items come with more than themselves. */
    const paged = <A extends { readonly next: string | undefined }, E>(
      filter: string,
      cursor: string | undefined,
      read: (position: string | undefined) => Effect.Effect<A, E>
    ) =>
      Effect.gen(function* () {
        const scope = { filter, principal: LOCAL_PRINCIPAL }
        const position =
          cursor === undefined ? undefined : yield* Effect.fromResult(decodeCursor(cursor, scope))
        const { next, ...page } = yield* read(position)
        return {
          ...page,
          nextCursor: next === undefined ? null : encodeCursor({ ...scope, position: next }),
          requestId: yield* CurrentRequestId
        }
      })

    const decide = Effect.fnUntraced(function* <Request>(
      kind: "accept" | "reject" | "undo",
      runId: RunId,
      headers: DecisionHeaders,
      payload: Request,
      carryOut: Decide<Request>
    ) {
      const { [ORIGIN_HEADER]: origin = "terminal", "idempotency-key": key } = headers
      const { body, replayed } = yield* decisions.decideChanges(
        kind,
        runId,
        payload,
        { key, origin },
        carryOut
      )
      return yield* markReplayed(body, replayed)
    }, withErrorObject)

    return handlers.handleAll({
      get: ({ params: { id }, query: { cursor, limit } }) =>
        withErrorObject(paged(`changes ${id}`, cursor, (position) => service.read(id, position, limit))),

      file: ({ params: { fileId, id }, query: { context, cursor, limit } }) =>
        withErrorObject(
          paged(`changes ${id} ${fileId}`, cursor, (position) =>
            service.readFile(id, fileId, { context, position, limit })
          )
        ),

      accept: ({ headers, params: { id }, payload }) =>
        decide("accept", id, headers, payload, service.accept),
      reject: ({ headers, params: { id }, payload }) =>
        decide("reject", id, headers, payload, service.reject),
      undo: ({ headers, params: { id }, payload }) => decide("undo", id, headers, payload, service.undo)
    })
  })
)
