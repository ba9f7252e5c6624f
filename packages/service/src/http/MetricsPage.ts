/**
 * `GET /metrics`: what a service counts, as Prometheus reads it, only with the metrics token. Without such a token
 * there is no such page.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import { Effect, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { type HttpRefusal, refuseRequest } from "./Refusal.ts"
import type { Metrics } from "../telemetry/Metrics.ts"

export const METRICS_PATH = "/metrics"

/** Whether a target is the page. */
export const isMetricsPage = (target = ""): boolean => target.split("?", 1)[0] === METRICS_PATH

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether an Authorization header carries the metrics token: an operator's credential that needs no store to be verified. */
export const metricsTokenMatcher = (
  token: Redacted.Redacted | undefined
): ((authorization: string | undefined) => boolean) => {
  const wanted = token === undefined ? undefined : digest(Redacted.value(token))
  return (authorization = "") => {
    const given = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
    return wanted !== undefined && given !== undefined && timingSafeEqual(digest(given), wanted)
  }
}

/** Answers a request for the page; the listener's door has let it pass. */
export const serveMetricsPage = (metrics: Metrics, token: Redacted.Redacted | undefined) => {
  const carriesToken = metricsTokenMatcher(token)

  const refusalOf = ({ headers, method }: IncomingMessage): HttpRefusal | undefined => {
    if (token === undefined) return { code: "not_found" }
    // A reader of metrics is a program: a browser says where its page is from.
    const site = headers["sec-fetch-site"]
    if (headers.origin !== undefined || (site !== undefined && site !== "none"))
      return { code: "permission_denied", message: "Browsers do not read metrics." }
    if (method !== "GET") return { code: "method_not_allowed" }
    return carriesToken(headers.authorization) ? undefined : { code: "unauthorized" }
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const refusal = refusalOf(request)
    if (refusal?.code === "method_not_allowed") response.setHeader("Allow", "GET")
    // The listener put the id there.
    if (refusal !== undefined)
      return refuseRequest(response, refusal, request.headers["x-request-id"] as RequestId)
    Effect.runFork(
      Effect.map(metrics.text, (text) => {
        response.writeHead(200, {
          "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
          "Content-Length": String(Buffer.byteLength(text))
        })
        response.end(text)
      })
    )
  }
}
