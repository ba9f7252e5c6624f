/**
 * The Hub's sign-in as endpoints see it: a session token as bearer, or the browser's cookie with a CSRF header, never both.
 *
 * Declares the middleware; the Hub implements it.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import type { UserId } from "../identity/Ids.ts"
import type { CurrentRequestId } from "../http/RequestContext.ts"
import type { PrincipalKind } from "../identity/User.ts"

/** Sent by browsers only over HTTPS, only to this host, never by script. */
export const SESSION_COOKIE = "__Host-corral"
/** Must repeat the token that came with the sign-in on every write made with the cookie. */
export const CSRF_HEADER = "x-csrf-token"

export interface Principal {
  readonly userId: UserId
  /** Names the sign-in or the API key, not its token: what revoking addresses. */
  readonly signInId: string
  readonly kind: PrincipalKind
  /** When it ends unless it is used before. */
  readonly expiresAt: Date
}

/** Repeats itself to the pages of the Hub, which send it as `CSRF_HEADER`. */
export const CSRF_COOKIE = "__Host-corral-csrf"

/** Who is signed in. */
export class CurrentPrincipal extends Context.Service<CurrentPrincipal, Principal>()(
  "corral/domain/CurrentPrincipal"
) {}

/**
 * Wraps every endpoint that needs a sign-in.
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
