/**
 * Gateway identity at the endpoints of the Hub: a service with its own token, which names chat accounts and never a user.
 *
 * Declares the middleware; the Hub implements it.
 */
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import type { CurrentRequestId } from "../http/RequestContext.ts"

/**
 * Wraps every endpoint that only a Gateway may call.
 *
 * @effect-expect-leaking CurrentRequestId | HttpServerRequest | ParsedSearchParams | RouteContext
 */
export class GatewayAuthority extends HttpApiMiddleware.Service<
  GatewayAuthority,
  { requires: CurrentRequestId }
>()("corral/domain/GatewayAuthority", {
  security: { gateway: HttpApiSecurity.bearer },
  error: responses("unauthorized")
}) {}
