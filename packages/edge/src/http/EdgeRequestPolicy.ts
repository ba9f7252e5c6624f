/**
 * What the Edge asks of every request and upgrade: its own Host, no foreign Origin, the token, and a JSON body of acceptable size. Only the
 * health pages, and preflights of allowed origins, are open without a token. Pure except for the token check.
 */
import { isPreflight } from "@corral/service/http/CrossOrigin"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { isMetricsPage } from "@corral/service/http/MetricsPage"
import {
  headerOf,
  pathOfTarget,
  type RequestHead,
  type RequestPolicy
} from "@corral/service/http/RequestGuard"

export interface EdgePolicyOptions {
  /** Values of Host under which the Edge is reached, with the port. */
  readonly hosts: ReadonlyArray<string>
  readonly allowedOrigins: ReadonlyArray<string>
  readonly matchesToken: (candidate: string) => boolean
}

export const EDGE_STREAM_PATH = "/v1/events"

const healthPaths = new Set(["/health", "/v1/health", "/health/live"])

type TokenSource = Pick<RequestHead, "headers" | "isUpgrade" | "target">

/** The bearer token, or the query's on the event stream's upgrade; "" for another form, `undefined` for none. */
const tokenOf = ({ headers, isUpgrade, target }: TokenSource): string | undefined => {
  const { authorization } = headers
  if (authorization !== undefined)
    return /^Bearer +(\S+) *$/i.exec(headerOf({ headers }, "authorization") ?? "")?.[1] ?? ""
  if (!isUpgrade || pathOfTarget(target) !== EDGE_STREAM_PATH) return undefined
  return new URLSearchParams(target.slice(target.indexOf("?") + 1)).get("token") ?? undefined
}

/** Whether a request that the policy admits carries the Edge's token. */
export const carriesEdgeToken = (source: TokenSource): boolean =>
  !isMetricsPage(source.target) &&
  (source.headers["authorization"] !== undefined || tokenOf(source) !== undefined)

const refusalOfToken = (
  head: RequestHead,
  matches: (candidate: string) => boolean
): HttpRefusal | undefined => {
  // The metrics page has its own token, which gives access to nothing else. The Edge's token does not open it.
  if (isMetricsPage(head.target)) return undefined
  // A browser sends no credentials with it. Its Origin is a listed one: names are checked first.
  if (isPreflight(head)) return undefined
  const token = tokenOf(head)
  const isAllowed =
    token === undefined ? head.method === "GET" && healthPaths.has(pathOfTarget(head.target)) : matches(token)
  return isAllowed ? undefined : { code: "unauthorized" }
}

export const edgeRequestPolicy = ({
  allowedOrigins,
  hosts,
  matchesToken
}: EdgePolicyOptions): RequestPolicy => ({
  names: { hosts: new Set(hosts), origins: new Set(allowedOrigins) },
  // An allowed Origin is another site.
  allowsCrossSite: (head) => headerOf(head, "origin") !== undefined,
  refusalOf: (head) => refusalOfToken(head, matchesToken)
})
