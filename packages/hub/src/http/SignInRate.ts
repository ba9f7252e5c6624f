/**
 * Rate limit of sign-ins and of wrong codes and tokens, by client address. It is much lower than the general limit and counts per Hub. Behind
 * trusted proxies the client's address counts; an IPv6 client counts by its /64 network.
 */
import type { Coded, ErrorCode } from "@corral/domain/errors/ErrorTable"
import { RateLimited } from "@corral/domain/errors/Failures"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { HubConfig } from "../config/HubConfig.ts"
import { ClientAddress } from "./Callers.ts"

/** @effect-expect-leaking HttpServerRequest */
export class SignInRate extends Context.Service<
  SignInRate,
  {
    /** Counts this request. */
    readonly counted: Effect.Effect<void, RateLimited, HttpServerRequest.HttpServerRequest>
    /** Counts refusals; refuses requests after too many. */
    readonly countingRefusals: <A, E, R>(
      self: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest>
  }
>()("corral/hub/SignInRate") {
  static readonly layer = Layer.effect(
    SignInRate,
    Effect.gen(function* () {
      const { signInsPerMinute: perMinute } = yield* HubConfig
      const clock = yield* Clock.Clock
      const rate = new RequestRateLimit(perMinute, () => clock.currentTimeMillisUnsafe(), MINUTE)
      const addresses = yield* ClientAddress
      const address = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers, remoteAddress }) =>
        addresses.networkOf(headers, Option.getOrUndefined(remoteAddress))
      )
      const refuse = new RateLimited({ details: { retryAfterSeconds: Math.ceil(60 / perMinute) } })
      return SignInRate.of({
        counted: Effect.flatMap(address, (key) => (rate.take(key) ? Effect.void : Effect.fail(refuse))),
        countingRefusals: Effect.fnUntraced(function* (self) {
          const key = yield* address
          if (!rate.has(key)) return yield* refuse
          return yield* Effect.tapError(self, (error) =>
            Effect.sync(() => {
              if (isRefusal(error)) rate.take(key)
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
