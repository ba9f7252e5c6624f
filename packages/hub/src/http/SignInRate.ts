/**
 * How often one address may begin to sign in, or be wrong about a code or a token: far less often than it may ask anything else. It counts
 * in one Hub. Behind trusted proxies the client's address counts, not the proxy's; an IPv6 client counts by its /64 network.
 */
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { RateLimited } from "@corral/domain/errors/Failures"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { ClientAddress } from "./ClientAddress.ts"

/** @effect-expect-leaking HttpServerRequest */
export class SignInRate extends Context.Service<
  SignInRate,
  {
    /** Counts this request. */
    readonly counted: Effect.Effect<void, RateLimited, HttpServerRequest.HttpServerRequest>
    /** Counts it where it is refused; refuses it where there have been too many. */
    readonly countingRefusals: <A, E, R>(
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest>
  }
>()("corral/hub/SignInRate") {
  static readonly layer = (perMinute: number) =>
    Layer.effect(
      SignInRate,
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const rate = new RequestRateLimit(perMinute, () => clock.currentTimeMillisUnsafe(), MINUTE)
        const addresses = yield* ClientAddress
        const address = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers, remoteAddress }) =>
          addresses.networkOf(headers, Option.getOrUndefined(remoteAddress))
        )
        const refuse = new RateLimited({ details: { retryAfterSeconds: Math.ceil(60 / perMinute) } })
        return SignInRate.of({
          counted: Effect.flatMap(address, (who) => (rate.take(who) ? Effect.void : Effect.fail(refuse))),
          countingRefusals: Effect.fnUntraced(function* (self) {
            const who = yield* address
            if (!rate.has(who)) return yield* refuse
            return yield* Effect.tapError(self, (error) =>
              Effect.sync(() => {
                if (isRefusal(error)) rate.take(who)
              })
            )
          })
        })
      })
    )
}

const MINUTE = 60_000

const isRefusal = (error: unknown): boolean => {
  const { code } = error as Partial<Coded<ErrorCode>>
  return code === "unauthorized" || code === "permission_denied"
}
