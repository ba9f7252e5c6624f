/** Writes with an `Idempotency-Key`: a repeated request gets the stored response, marked as replayed. */
import { markReplayed } from "@corral/service/http/Replayed"
import { Effect, type Schema } from "effect"
import { HubIdempotency } from "../HubIdempotency.ts"

export interface KeyedRequest<A> {
  /** Principal, method and path. */
  readonly scope: string
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  /** The decoded body, to which the key is bound. */
  readonly payload: unknown
  readonly response: Schema.ConstraintDecoder<A>
}

/** Runs a write in a transaction, once per key. The write rolls itself back where it fails, as `Audit.perform` does. */
export const keyedWrite = Effect.map(
  HubIdempotency,
  (idempotency) =>
    <A, E, R>({ headers, payload, response, scope }: KeyedRequest<A>, write: Effect.Effect<A, E, R>) => {
      const request = { scope, key: headers["idempotency-key"], request: payload, response }
      return Effect.flatMap(idempotency.runOnce(request, write), ({ body, replayed }) =>
        markReplayed(body, replayed)
      )
    }
)
