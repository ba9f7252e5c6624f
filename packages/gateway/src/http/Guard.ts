/**
 * Checks of a request before its body is read: the path, the method, the media type and the size.
 *
 * Does not: check who sent the request. Only the body says that; neither Host nor Origin identifies a platform.
 */
import type { HttpRefusal } from "@corral/service/http/Refusal"
import type { IncomingHttpHeaders } from "node:http"

export const MAX_WEBHOOK_BYTES = 1_048_576

export interface GatewayRequest {
  readonly method: string
  /** As sent: a path with its query, or an absolute URL, which matches no route. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
}

export interface GatewayRoute {
  readonly method: "GET" | "POST"
  /** Media type of a request body; JSON by default. */
  readonly body?: "form"
}

const JSON_BODY = /^application\/json\s*(;|$)/i
const FORM_BODY = /^application\/x-www-form-urlencoded\s*(;|$)/i

/** The path of a request target, without its query. */
export const targetPath = (target: string): string => target.split("?", 1)[0] ?? ""

export const guardWebhook = (
  { headers, method, target }: GatewayRequest,
  routes: ReadonlyMap<string, GatewayRoute>
): HttpRefusal | undefined => {
  const route = routes.get(targetPath(target))
  if (route === undefined) return { code: "not_found" }
  if (route.method !== method) return { code: "method_not_allowed" }
  if (method === "GET") return undefined
  if (Number(headers["content-length"] ?? 0) > MAX_WEBHOOK_BYTES) return { code: "payload_too_large" }
  const mediaType = route.body === "form" ? FORM_BODY : JSON_BODY
  return mediaType.test(headers["content-type"] ?? "") ? undefined : { code: "unsupported_media_type" }
}
