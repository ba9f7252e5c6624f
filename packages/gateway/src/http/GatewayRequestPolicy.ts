/**
 * What the Gateway asks of a request before it reads the body: a served path, its method, and a body of the expected kind and size. Pure.
 *
 * Does not: check who sent the request. Only the body says that; neither Host nor Origin identifies a platform.
 */
import { isMetricsPage } from "@corral/service/http/MetricsPage"
import { DISCOVERY_PATHS, DOCUMENT_PATHS } from "@corral/service/http/ServiceDocuments"
import { acceptsPage } from "@corral/service/http/NotFound"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import {
  type BodyKind,
  headerOf,
  pathOfTarget,
  type RequestHead,
  type RequestPolicy
} from "@corral/service/http/RequestGuard"
import type { ChatPlatform } from "../platform/ChatPlatform.ts"

/** Larger than an event of any platform, so that the sender of a message that is too long learns it. A signature is checked over all bytes. */
export const MAX_EVENT_BYTES = 4 * 1_048_576

export interface GatewayRoute {
  readonly method: "GET" | "POST"
  readonly body: BodyKind
}

const publicRoute: GatewayRoute = { method: "GET", body: "json" }

/** The paths that a Gateway serves: health, documents, discovery files, and the webhooks of its platforms. */
export const routesFor = (platforms: ReadonlyArray<ChatPlatform>): ReadonlyMap<string, GatewayRoute> => {
  const routes = new Map<string, GatewayRoute>([
    ["/health", publicRoute],
    ["/health/live", publicRoute],
    ...[...DOCUMENT_PATHS, ...DISCOVERY_PATHS].map((path) => [path, publicRoute] as const)
  ])
  for (const { forms = [], id } of platforms)
    for (const kind of ["events", "card-actions"] as const)
      routes.set(`/integrations/${id}/${kind}`, {
        method: "POST",
        body: forms.includes(kind) ? "form" : "json"
      })
  return routes
}

/** Whether a browser looks for a page outside the API. */
const isPageRequest = (head: RequestHead): boolean =>
  head.method === "GET" &&
  head.target.startsWith("/") &&
  !head.target.startsWith("/integrations/") &&
  acceptsPage(headerOf(head, "accept"))

const refusalOfRoute = (head: RequestHead, route: GatewayRoute | undefined): HttpRefusal | undefined => {
  // The server answers for this page, with its own token.
  if (isMetricsPage(head.target)) return undefined
  // A browser gets a page that says so.
  if (route === undefined) return isPageRequest(head) ? undefined : { code: "not_found" }
  return route.method === head.method ? undefined : { code: "method_not_allowed", allow: [route.method] }
}

export const gatewayRequestPolicy = (routes: ReadonlyMap<string, GatewayRoute>): RequestPolicy => ({
  refusalOf: (head) => refusalOfRoute(head, routes.get(pathOfTarget(head.target))),
  bodyKindAt: (path) => routes.get(path)?.body ?? "json",
  maxBytesAt: (path) => (routes.get(path)?.method === "POST" ? MAX_EVENT_BYTES : undefined),
  requiresBodyAt: (path) => routes.get(path)?.method === "POST"
})
