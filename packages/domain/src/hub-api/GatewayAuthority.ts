/**
 * Authentication of Gateways at the Hub. A Gateway has its own token. It names chat accounts, never users.
 *
 * Does not: implement the middleware. The Hub does.
 */
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { responses } from "../errors/ErrorTable.ts"
import type { CurrentRequestId } from "../http/RequestContext.ts"

/**
 * Middleware of endpoints that only a Gateway may call.
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
