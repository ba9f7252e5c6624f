/**
 * Authentication of endpoints, before their handlers run: the bearer token or the cookie, looked up for each request, or a Gateway's token.
 */
import { Unauthorized } from "@corral/domain/errors/Failures"
import { keyScopeOf } from "@corral/domain/hub-api/HubAuthorization"
import { GatewayAuthority } from "@corral/domain/hub-api/Chat"
import { CurrentPrincipal, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { type Endpoint, GatewayTokens, HubCredentials } from "../signin/HubCredentials.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { Callers } from "./Callers.ts"
import { credentialOf } from "./RequestCredential.ts"

export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const callers = yield* Callers
    const credentials = yield* HubCredentials

    const principal = (endpoint: Endpoint) =>
      HttpServerRequest.HttpServerRequest.pipe(
        Effect.flatMap(({ headers }) => {
          const credential = credentialOf(headers)
          return Effect.tap(credentials.verify(credential, endpoint), () =>
            Effect.sync(() => callers.reportValid(credential))
          )
        }),
        withErrorObjects
      )

    return SessionAuthority.of({
      // The refusal of the last scheme is the response, so that scheme reads both credentials.
      bearer: () => withErrorObject(Effect.fail(new Unauthorized())),
      cookie: (handler, { endpoint }) =>
        Effect.flatMap(
          principal({ method: endpoint.method, path: endpoint.path, keyScope: keyScopeOf(endpoint) }),
          (current) => Effect.provideService(handler, CurrentPrincipal, current)
        )
    })
  })
)

export const gatewayAuthentication = Layer.effect(
  GatewayAuthority,
  Effect.gen(function* () {
    const callers = yield* Callers
    const tokens = yield* GatewayTokens

    const admitted = HttpServerRequest.HttpServerRequest.pipe(
      Effect.flatMap(({ headers }) => {
        const credential = credentialOf(headers)
        return credential.bearer !== undefined && tokens.isGatewayToken(credential.bearer)
          ? Effect.sync(() => callers.reportValid(credential))
          : Effect.fail(new Unauthorized())
      }),
      withErrorObject
    )

    return GatewayAuthority.of({ gateway: (handler) => Effect.andThen(admitted, handler) })
  })
)
