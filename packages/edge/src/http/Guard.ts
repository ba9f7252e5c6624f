/**
 * What every request and every upgrade must pass before anything of it is routed: the right Host, no foreign Origin, no cross-site
 * fetch, the token, a JSON body of acceptable size. One function for both entry points, so that no route can forget it.
 *
 * Pure but for the token check. It does not look at what the route would do.
 */
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import { isMetricsPage } from "@corral/service/http/MetricsPage"
import type { IncomingHttpHeaders } from "node:http"

export interface GuardedEdgeRequest {
  readonly method: string
  /** As sent: path and query, or an absolute form, which is refused. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: ReadonlyArray<string>
  readonly upgrade: boolean
}

export interface EdgeGuardOptions {
  /** The port that is listened on. */
  readonly port: number
  readonly allowedOrigins: ReadonlySet<string>
  readonly matchesToken: (candidate: string) => boolean
}

export type Passage =
  | { readonly _tag: "Pass"; readonly authenticated: boolean }
  | { readonly _tag: "Refuse"; readonly code: ErrorCode; readonly message?: string }

export const MAX_EDGE_BODY_BYTES = 1_048_576
export const EDGE_STREAM_PATH = "/v1/events"

const pathOf = (target: string): string => target.split("?", 1)[0] ?? ""

/** Open without a token, and then they say less. */
const isHealth = (path: string): boolean =>
  path === "/health" || path === "/v1/health" || path === "/health/live"

const refuse = (code: ErrorCode, message?: string): Passage =>
  message === undefined ? { _tag: "Refuse", code } : { _tag: "Refuse", code, message }

const isOurHost = (request: GuardedEdgeRequest, port: number): boolean => {
  let hosts = 0
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    if (request.rawHeaders[i]?.toLowerCase() === "host") hosts++
  }
  const { host } = request.headers
  return (
    hosts === 1 && (host === `127.0.0.1:${port}` || host === `localhost:${port}` || host === `[::1]:${port}`)
  )
}

/** The bearer token, or on the event stream's upgrade alone the query's. `null`: none was sent. */
const tokenOf = (request: GuardedEdgeRequest): string | null => {
  const { authorization } = request.headers
  if (authorization !== undefined) return /^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ""
  if (!request.upgrade || pathOf(request.target) !== EDGE_STREAM_PATH) return null
  return new URLSearchParams(request.target.slice(request.target.indexOf("?") + 1)).get("token")
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

export const guardEdgeRequest = (request: GuardedEdgeRequest, options: EdgeGuardOptions): Passage => {
  const { headers, method, target } = request
  if (!isOurHost(request, options.port))
    return refuse("permission_denied", "The Host header names another server.")
  if (!target.startsWith("/")) return refuse("permission_denied", "The request target names another server.")
  const { origin } = headers
  if (origin !== undefined && !options.allowedOrigins.has(origin)) {
    return refuse("permission_denied", "This Origin may not reach the Edge.")
  }
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none" && origin === undefined) {
    return refuse("permission_denied", "Cross-site requests are refused.")
  }
  // The metrics page has its own token, which gives access to nothing else. The Edge's token does not open it.
  const token = isMetricsPage(target) ? undefined : tokenOf(request)
  if (token === null) {
    if (!(isHealth(pathOf(target)) && method === "GET")) return refuse("unauthorized")
  } else if (token !== undefined && !options.matchesToken(token)) {
    return refuse("unauthorized")
  }
  if (hasBody(headers)) {
    if (Number(headers["content-length"] ?? 0) > MAX_EDGE_BODY_BYTES) return refuse("payload_too_large")
    if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? ""))
      return refuse("unsupported_media_type")
  }
  return { _tag: "Pass", authenticated: typeof token === "string" }
}
