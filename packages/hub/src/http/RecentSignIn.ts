/**
 * Recent browser sign-in: required before a credential is issued that outlives the one in the request.
 *
 * Guarantees: a bearer token never suffices, and neither does the cookie of an older sign-in. Otherwise a copied token could obtain a
 * credential that neither the cap nor the reuse detection ends.
 */
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import { Clock, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { SignInStore } from "../signin/SignInStore.ts"
import { credentialOf } from "./RequestCredential.ts"

/** In milliseconds. */
const MAX_AGE = 900_000

export const recentSignIn = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const signIns = yield* SignInStore
  const required = Effect.gen(function* () {
    const { kind, signInId } = yield* CurrentPrincipal
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (kind !== "web" || credentialOf(headers).cookie === undefined)
      return yield* new PermissionDenied({ message: "Do this in your browser, where you are signed in." })
    const provenAt = yield* signIns.authenticatedAt(signInId)
    if (provenAt === undefined || clock.currentTimeMillisUnsafe() - provenAt.getTime() > MAX_AGE)
      return yield* new Conflict({
        message: "Sign in again to continue: your last sign-in is more than 15 minutes old.",
        details: { reason: "sign_in_old" }
      })
  })
  return { required }
})
