/**
 * Who is signed in, for every endpoint that asks: the bearer token or the cookie, looked up each time. An API key counts as a bearer token,
 * within its scopes, which are judged before the endpoint's handler runs.
 */
import type { ApiKeyScope } from "@corral/domain/ApiKey"
import { PermissionDenied, Unauthorized } from "@corral/domain/Failures"
import { CurrentPrincipal, SessionAuthority } from "@corral/domain/hub-api/SessionAuthority"
import { withErrorObject } from "@corral/domain/RequestContext"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { ApiKeys } from "../signin/ApiKeys.ts"
import { SignIns } from "../signin/SignIns.ts"
import { bearerToken, cookieToken } from "./Guard.ts"

/** Whether a key with those scopes may send such a request. `target` is path and query. */
export const keyMay = (scopes: ReadonlyArray<ApiKeyScope>, method: string, target: string): boolean => {
  const [path = ""] = target.split("?", 1)
  if (method === "GET" || method === "HEAD")
    return scopes.includes("read") && (!path.startsWith("/client/auth/") || path === "/client/auth/me")
  return scopes.includes("write") && !keptFromKeys.some((kept) => kept.test(path))
}

/** What a person does with a sign-in alone, lest a key that was lost makes others: sign-ins and keys, members, devices. */
const keptFromKeys = [
  /^\/client\/auth\//,
  /^\/client\/projects\/[^/]+\/members(\/|$)/,
  /^\/client\/devices(\/|$)/
]

const OUTSIDE = "This key's scopes do not reach so far."

export const authentication = Layer.effect(
  SessionAuthority,
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const signIns = yield* SignIns

    const withKey = Effect.fnUntraced(function* (token: string) {
      const key = yield* Effect.orDie(keys.find(token))
      if (key === undefined) return yield* new Unauthorized()
      const { method, url } = yield* HttpServerRequest.HttpServerRequest
      return keyMay(key.scopes, method, url) ? key : yield* new PermissionDenied({ message: OUTSIDE })
    })

    const principal = Effect.gen(function* () {
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      // The guard has seen that there is one of the two at most.
      const bearer = bearerToken(headers)
      const token = bearer ?? cookieToken(headers)
      const signIn = token === undefined ? undefined : yield* Effect.orDie(signIns.find(token))
      if (signIn !== undefined) return signIn
      return bearer === undefined ? yield* new Unauthorized() : yield* withKey(bearer)
    })

    return SessionAuthority.of({
      // Of several schemes the last one's refusal is answered: that one reads both.
      bearer: () => withErrorObject(Effect.fail(new Unauthorized())),
      cookie: (handler) =>
        Effect.flatMap(withErrorObject(principal), (signIn) =>
          Effect.provideService(handler, CurrentPrincipal, signIn)
        )
    })
  })
)
