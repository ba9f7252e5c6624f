/**
 * Credentials of a request: the bearer token, the session cookie and the chat account that a Gateway names. Does not verify them. Also
 * the recent browser sign-in that is required before a credential is issued that outlives the one in the request.
 *
 * Guarantees: a bearer token never counts as a recent sign-in, and neither does the cookie of an older one. Otherwise a copied token
 * could obtain a credential that neither the cap nor the reuse detection ends.
 */
import { CHAT_ACCOUNT_HEADER } from "@corral/domain/chat/ChatAccount"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import { CurrentPrincipal, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import { headerOf, type RequestHead } from "@corral/service/http/RequestGuard"
import { Clock, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import type { Credential } from "../signin/HubCredentials.ts"
import { SignInStore } from "../signin/SignInStore.ts"

type Headers = RequestHead["headers"]

/** The session's token in the cookies; "" if the cookie came more than once. */
const cookieToken = (cookie = ""): string | undefined => {
  const tokens = cookie
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
  return tokens.length > 1 ? "" : tokens[0]?.slice(SESSION_COOKIE.length + 1)
}

/** The bearer token; "" if the header has another form. */
const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "")

export const credentialOf = (headers: Headers): Credential => ({
  bearer: bearerToken(headerOf({ headers }, "authorization")),
  cookie: cookieToken(headerOf({ headers }, "cookie")),
  chatAccount: headerOf({ headers }, CHAT_ACCOUNT_HEADER)
})

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
