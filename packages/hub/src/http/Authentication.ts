/** Who is signed in, for every endpoint that asks: the bearer token or the cookie, looked up each time. */
import { CurrentPrincipal, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { Unauthorized } from "@corral/domain/Failures"
import { withErrorObject } from "@corral/domain/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { SignIns } from "../signin/SignIns.ts"
import { bearerToken, cookieToken } from "./Guard.ts"

export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const signIns = yield* SignIns
    const principal = Effect.gen(function* () {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      // The guard has seen that there is one of the two at most.
      const token = bearerToken(headers) ?? cookieToken(headers)
      const signIn = token === undefined ? undefined : yield* Effect.orDie(signIns.find(token))
      return signIn === undefined ? yield* new Unauthorized() : signIn
    })
    return SessionAuthority.of({
      bearer: (handler) =>
        Effect.flatMap(withErrorObject(principal), (signIn) =>
          Effect.provideService(handler, CurrentPrincipal, signIn)
        ),
      // Tried after the other, which reads both.
      cookie: () => withErrorObject(Effect.fail(new Unauthorized()))
    })
  })
)
