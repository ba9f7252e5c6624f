/**
 * Measurement of each request: its duration by route and status, and its span where there is a collector. Routes receive the span as `traceparent`.
 *
 * A route is a template, `/v1/runs/:id`. Paths themselves are unbounded, so they are never labels.
 */
import { type Metrics, serviceMetrics } from "../telemetry/Metrics.ts"
import type { Traces } from "../telemetry/Traces.ts"
import { METRICS_PATH } from "./MetricsPage.ts"
import { traceparentOf } from "@corral/domain/http/TraceContext"
import type { IncomingMessage, ServerResponse } from "node:http"

interface Node {
  template?: string
  readonly fixed: Map<string, Node>
  any?: Node
}

const node = (): Node => ({ fixed: new Map() })

/** Name for all paths without a route. */
export const OTHER_ROUTE = "other"

/** Returns a function from a request target to the template of its route. */
export const routeNames = (paths: Iterable<string>): ((target: string) => string) => {
  const root = node()
  for (const path of paths) {
    let at = root
    for (const part of path.split("/")) {
      let next = part.startsWith(":") ? at.any : at.fixed.get(part)
      if (next === undefined) {
        next = node()
        if (part.startsWith(":")) at.any = next
        else at.fixed.set(part, next)
      }
      at = next
    }
    at.template = path
  }
  return (target) => {
    const end = target.search(/[?#]/)
    let at: Node | undefined = root
    for (const part of (end === -1 ? target : target.slice(0, end)).split("/")) {
      at = at.fixed.get(part) ?? (part === "" ? undefined : at.any)
      if (at === undefined) return OTHER_ROUTE
    }
    return at.template ?? OTHER_ROUTE
  }
}

export interface RequestWatch {
  /** Called for each request, first of all. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void
  /** Called for each admitted request. */
  readonly onPassed: (request: IncomingMessage, response: ServerResponse) => void
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
const methodOf = ({ method = "" }: IncomingMessage): string => (METHODS.has(method) ? method : "other")

/** Paths without spans: probes request them all the time. */
const UNTRACED = new Set(["/health", "/v1/health", "/health/live", METRICS_PATH])

/** `2xx`, or `gone` if the client disconnected before the response. */
const statusOf = (response: ServerResponse): string =>
  response.headersSent ? `${Math.floor(response.statusCode / 100)}xx` : "gone"

/** `paths`: templates of the served paths. */
export const requestWatch = (metrics: Metrics, traces: Traces, paths: Iterable<string>): RequestWatch => {
  const routeOf = routeNames([...paths, METRICS_PATH])
  return {
    onRequest: (request, response) => {
      const startedAt = performance.now()
      response.once("close", () => {
        const labels = {
          method: methodOf(request),
          route: routeOf(request.url ?? ""),
          status: statusOf(response)
        }
        metrics.histogram(serviceMetrics.requests, labels).record((performance.now() - startedAt) / 1_000)
      })
    },
    onPassed: (request, response) => {
      const route = routeOf(request.url ?? "")
      if (UNTRACED.has(route)) return
      const { traceparent, "x-request-id": requestId } = request.headers
      const method = methodOf(request)
      const parent = traceparentOf(typeof traceparent === "string" ? traceparent : undefined)
      const span = traces.start(`${method} ${route}`, "server", parent, {
        "http.request.method": method,
        "http.route": route,
        "corral.request_id": String(requestId)
      })
      if (span === undefined) return
      request.headers["traceparent"] = span.traceparent
      response.once("close", () =>
        span.end(
          response.headersSent ? { "http.response.status_code": response.statusCode } : {},
          response.statusCode >= 500
        )
      )
    }
  }
}
