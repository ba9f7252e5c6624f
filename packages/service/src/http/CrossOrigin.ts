/**
 * Cross-origin requests (CORS): what a service lets pages of other origins send and read, such as that of a desktop shell.
 *
 * Guarantees: only a listed origin, compared as a whole, learns anything. A preflight says which methods a route has; it needs no credentials,
 * and gives access to nothing. Cookies are never part of such a request.
 *
 * Source: the Fetch standard, "CORS protocol"; `Access-Control-Allow-Private-Network`: WICG, "Private Network Access".
 */
import { HttpServerResponse } from "effect/http"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import type { IncomingMessage } from "node:http"
import { isMetricsPage } from "./MetricsPage.ts"
import { headerOf, type RequestHead } from "./RequestGuard.ts"
import { methodsOf } from "./Unanswered.ts"

/** Headers that a page may send. */
const SENT =
  "authorization, content-type, idempotency-key, last-event-id, traceparent, x-request-id, x-corral-origin, range"
/** Headers that a page may read. */
const READ =
  "x-request-id, x-contract-version, location, retry-after, idempotency-replayed, content-disposition, content-range, accept-ranges"
/** How long a browser may use the answer to a preflight, in seconds. */
const PREFLIGHT_SECONDS = "600"

/** Whether a browser asks what the page may send. */
export const isPreflight = (head: Pick<RequestHead, "headers" | "method" | "target">): boolean =>
  head.method === "OPTIONS" &&
  headerOf(head, "origin") !== undefined &&
  headerOf(head, "access-control-request-method") !== undefined &&
  !isMetricsPage(head.target)

export interface CrossOrigin {
  /** Headers of every answer to a request, errors included. */
  readonly headersOf: (request: IncomingMessage) => Readonly<Record<string, string>>
  /** Answer to the preflight of an admitted request; `undefined` for another request, and for a path that no route has. */
  readonly preflightOf: (request: IncomingMessage) => HttpServerResponse.HttpServerResponse | undefined
}

export const crossOrigin = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  origins: ReadonlySet<string>
): CrossOrigin => {
  // Compiled by the first preflight: without a listed origin there is none.
  let methodsAt: ReturnType<typeof methodsOf> | undefined
  return {
    headersOf: ({ headers: { origin }, url }) =>
      origins.size === 0 || isMetricsPage(url)
        ? {}
        : {
            // For caches: also without an Origin, and for an origin that is not listed.
            Vary: "Origin",
            ...(origin !== undefined && origins.has(origin)
              ? { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": READ }
              : {})
          },
    preflightOf: ({ headers, method = "", url: target = "" }) => {
      if (!isPreflight({ headers, method, target })) return undefined
      const methods = (methodsAt ??= methodsOf(api))(target)
      if (methods.length === 0) return undefined
      return HttpServerResponse.empty({
        status: 204,
        headers: {
          "access-control-allow-methods": methods.join(", "),
          "access-control-allow-headers": SENT,
          "access-control-allow-private-network": "true",
          "access-control-max-age": PREFLIGHT_SECONDS
        }
      })
    }
  }
}
