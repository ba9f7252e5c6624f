/**
 * Authentication of users at the Hub: a bearer token, or the browser's cookie with a CSRF header. A request with both is refused.
 *
 * Does not: implement the middleware. The Hub does.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import type { UserId } from "../identity/Ids.ts"
import type { CurrentRequestId } from "../http/RequestContext.ts"
import type { PrincipalKind } from "../identity/User.ts"

/** Name of the session cookie. Browsers send it only over HTTPS and only to this host. Scripts cannot read it. */
export const SESSION_COOKIE = "__Host-corral"
/** Header that every write with the cookie requires. Its value is that of `CSRF_COOKIE`. */
export const CSRF_HEADER = "x-csrf-token"

/** Authenticated user of a request. */
export interface Principal {
  readonly userId: UserId
  /** Id of the sign-in or the API key, by which it can be revoked. Not the token. */
  readonly signInId: string
  readonly kind: PrincipalKind
  /** Expiry, unless a use renews the sign-in. */
  readonly expiresAt: Date
}

/** Cookie that the pages of the Hub read and send as `CSRF_HEADER`. */
export const CSRF_COOKIE = "__Host-corral-csrf"

/** Principal of the current request. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "corral/domain/CurrentPrincipal"
) {}

/**
 * Middleware of endpoints that require a sign-in.
 *
 * @effect-expect-leaking CurrentRequestId | HttpServerRequest | ParsedSearchParams | RouteContext
 */
export class SessionAuthority extends HttpApiMiddleware.Service<
  SessionAuthority,
  { provides: CurrentPrincipal; requires: CurrentRequestId }
>()("corral/domain/SessionAuthority", {
  security: {
    bearer: HttpApiSecurity.bearer,
    cookie: HttpApiSecurity.apiKey({ in: "cookie", key: SESSION_COOKIE })
  },
  error: responses("unauthorized", "permission_denied", "binding_required")
}) {}
