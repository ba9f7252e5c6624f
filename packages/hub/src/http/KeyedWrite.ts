/**
 * Writes that must not happen twice or be lost. A write with an `Idempotency-Key` is made once: a repeated request gets the stored
 * response, marked as replayed.
 *
 * Guarantees: a command to an Edge whose outcome is recorded continues if its client disconnects, so that what an Edge has done has
 * its record.
 */
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect, Fiber, type Schema } from "effect"
import { HubIdempotency } from "../HubIdempotency.ts"

export const completingCommands = Effect.map(
  Effect.scope,
  (scope) =>
    <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(Effect.forkIn(command, scope), Fiber.join)
)

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
