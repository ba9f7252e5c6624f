/**
 * Who is signed in, for every endpoint that asks: the bearer token or the cookie, looked up each time, before the endpoint's handler runs.
 */
import { Unauthorized } from "@corral/domain/Failures"
import { CurrentPrincipal, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { withErrorObject } from "@corral/domain/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Credentials } from "../signin/Credentials.ts"
import { answered } from "./Answered.ts"
import { bearerToken, cookieToken } from "./Guard.ts"

export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const credentials = yield* Credentials

    const principal = Effect.gen(function* () {
      const { headers, method, url } = yield* HttpServerRequest.HttpServerRequest
      // The guard has seen that there is one of the two at most.
      return yield* credentials.judge(bearerToken(headers) ?? cookieToken(headers), method, url)
    })

    return SessionAuthority.of({
      // Of several schemes the last one's refusal is answered: that one reads both.
      bearer: () => withErrorObject(Effect.fail(new Unauthorized())),
      cookie: (handler) =>
        Effect.flatMap(answered(principal), (found) =>
          Effect.provideService(handler, CurrentPrincipal, found)
        )
    })
  })
)
