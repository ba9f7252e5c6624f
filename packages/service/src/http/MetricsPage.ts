/**
 * `GET /metrics`: metrics of a service in Prometheus' format, for callers with the metrics token. A service without such a token has no
 * such page.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Effect, Redacted } from "effect"
import { HttpServerResponse } from "effect/http"
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { Metrics } from "../telemetry/Metrics.ts"
import type { NodeExchange } from "./NodeExchange.ts"
import { type HttpRefusal, refuseUnread } from "./Refusal.ts"

export const METRICS_PATH = "/metrics"

/** Whether a target is the page. */
export const isMetricsPage = (target = ""): boolean =>
  target.startsWith(METRICS_PATH) &&
  (target.length === METRICS_PATH.length || target[METRICS_PATH.length] === "?")

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether an Authorization header contains the metrics token, which is verified without a store. */
export const metricsTokenMatcher = (
  token: Redacted.Redacted | undefined
): ((authorization: string | undefined) => boolean) => {
  const wanted = token === undefined ? undefined : digest(Redacted.value(token))
  return (authorization = "") => {
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
    return wanted !== undefined && bearer !== undefined && timingSafeEqual(digest(bearer), wanted)
  }
}

/** Why an admitted request for the page is refused. */
const refusalOf = (
  { headers, method }: IncomingMessage,
  carriesToken: (authorization: string | undefined) => boolean
): HttpRefusal | undefined => {
  // Only programs read metrics. A browser sends an Origin.
  const site = headers["sec-fetch-site"]
  if (headers.origin !== undefined || (site !== undefined && site !== "none"))
    return { code: "permission_denied", message: "Browsers do not read metrics." }
  if (method !== "GET") return { code: "method_not_allowed", allow: ["GET"] }
  return carriesToken(headers.authorization) ? undefined : { code: "unauthorized" }
}

/** Handler of the page; `not_found` without a metrics token. */
export const serveMetrics = (metrics: Metrics, token: Redacted.Redacted | undefined) => {
  const carriesToken = metricsTokenMatcher(token)
  const page = Effect.map(metrics.text, (text) =>
    HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
  )
  return ({ request, response }: NodeExchange, requestId: RequestId) => {
    const refusal: HttpRefusal | undefined =
      token === undefined ? { code: "not_found" } : refusalOf(request, carriesToken)
    return refusal === undefined ? page : refuseUnread(response, refusal, requestId)
  }
}
