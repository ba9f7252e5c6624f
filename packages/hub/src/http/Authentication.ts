/**
 * Who is signed in, for every endpoint that asks: the bearer token or the cookie, looked up each time, before the endpoint's handler runs.
 */
import { Unauthorized } from "@corral/domain/Failures"
import { CurrentPrincipal, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { withErrorObject } from "@corral/domain/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { Credentials, type Endpoint } from "../signin/Credentials.ts"
import { answered } from "./Answered.ts"
import { Callers } from "./Callers.ts"
import { credentialOf } from "./Guard.ts"

export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const callers = yield* Callers
    const credentials = yield* Credentials

    const principal = (endpoint: Endpoint) =>
      HttpServerRequest.HttpServerRequest.pipe(
        Effect.flatMap(({ headers }) => {
          const credential = credentialOf(headers)
          const token = credential.bearer ?? credential.cookie
          return Effect.tap(credentials.judge(credential, endpoint), () =>
            Effect.sync(() => token !== undefined && callers.vouch(token))
          )
        }),
        answered
      )

    return SessionAuthority.of({
      // Of several schemes the last one's refusal is answered: that one reads both.
      bearer: () => withErrorObject(Effect.fail(new Unauthorized())),
      cookie: (handler, { endpoint }) =>
        Effect.flatMap(principal(endpoint), (found) =>
          Effect.provideService(handler, CurrentPrincipal, found)
        )
    })
  })
)
