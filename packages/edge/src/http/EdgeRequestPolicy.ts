/**
 * What the Edge asks of every request and upgrade: its own Host, no foreign Origin, the token, a JSON body of acceptable size, and a rate. Only the
 * health pages, and preflights of allowed origins, are open without a token. Pure except for the token check and the rate.
 *
 * The guard compares the token before a route is found, together with the rest of its checks; endpoints verify it as their contract declares.
 *
 * The rate has one token bucket for the holder of the token and another for all other callers, so that a program without the token cannot use up
 * the holder's requests. All callers come from loopback: addresses do not distinguish them. It counts requests and upgrades, not what an upgraded
 * socket sends.
 */
import { LocalToken } from "../LocalToken.ts"
import { Unauthorized } from "@corral/domain/errors/Failures"
import { BearerAuthority, withErrorObject } from "@corral/domain/http/RequestContext"
import { isPreflight } from "@corral/service/http/CrossOrigin"
import { isMetricsPage } from "@corral/service/http/MetricsPage"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import {
  headerOf,
  pathOfTarget,
  type RequestHead,
  type RequestPolicy
} from "@corral/service/http/RequestGuard"
import { RequestRateLimit as Buckets } from "@corral/service/http/RequestRateLimit"
import { Effect, Layer, Redacted } from "effect"

interface EdgePolicyOptions {
  /** Values of Host under which the Edge is reached, with the port. */
  readonly hosts: ReadonlyArray<string>
  readonly allowedOrigins: ReadonlyArray<string>
  readonly matchesToken: (candidate: string) => boolean
  /** Whether an editor may use the agent host with this token. */
  readonly matchesEditor: (candidate: string) => boolean
}

export const EDGE_STREAM_PATH = "/v1/events"
export const AGENT_HOST_PATH = "/ahp"

/** An upgrade to the agent host. Editors that read the address of a host from a file use no path, only the query. */
export const isAgentHost = ({ isUpgrade, target }: Pick<RequestHead, "isUpgrade" | "target">): boolean => {
  if (!isUpgrade) return false
  const path = pathOfTarget(target)
  return (
    path === AGENT_HOST_PATH ||
    path.startsWith(`${AGENT_HOST_PATH}/`) ||
    (path === "/" && queryOf(target).has("tkn"))
  )
}

const queryOf = (target: string): URLSearchParams =>
  new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?") + 1) : "")

const healthPaths = new Set(["/health", "/v1/health", "/health/live"])

type TokenSource = Pick<RequestHead, "headers" | "isUpgrade" | "target">

/** The bearer token, or the query's on the upgrade of the event stream or the agent host; "" for another form, `undefined` for none. */
const tokenOf = ({ headers, isUpgrade, target }: TokenSource): string | undefined => {
  const { authorization } = headers
  if (authorization !== undefined)
    return /^Bearer +(\S+) *$/i.exec(headerOf({ headers }, "authorization") ?? "")?.[1] ?? ""
  if (isAgentHost({ isUpgrade, target })) return queryOf(target).get("tkn") ?? undefined
  if (!isUpgrade || pathOfTarget(target) !== EDGE_STREAM_PATH) return undefined
  return queryOf(target).get("token") ?? undefined
}

/** Whether a request that the policy admits carries the Edge's token. */
export const carriesEdgeToken = (source: TokenSource): boolean =>
  !isMetricsPage(source.target) &&
  (source.headers["authorization"] !== undefined || tokenOf(source) !== undefined)

const refusalOfToken = (
  head: RequestHead,
  { matchesEditor, matchesToken }: Pick<EdgePolicyOptions, "matchesEditor" | "matchesToken">
): HttpRefusal | undefined => {
  // The metrics page has its own token, which gives access to nothing else. The Edge's token does not open it.
  if (isMetricsPage(head.target)) return undefined
  // A browser sends no credentials with it. Its Origin is a listed one: names are checked first.
  if (isPreflight(head)) return undefined
  const token = tokenOf(head)
  // Editors expect this status, and try again after an upgrade that is accepted and closed.
  if (isAgentHost(head))
    return token !== undefined && matchesEditor(token) ? undefined : { code: "permission_denied" }
  const isAllowed =
    token === undefined
      ? head.method === "GET" && healthPaths.has(pathOfTarget(head.target))
      : matchesToken(token)
  return isAllowed ? undefined : { code: "unauthorized" }
}

export const edgeRequestPolicy = ({
  allowedOrigins,
  hosts,
  ...tokens
}: EdgePolicyOptions): RequestPolicy => ({
  names: { hosts: new Set(hosts), origins: new Set(allowedOrigins) },
  // An allowed Origin is another site.
  allowsCrossSite: (head) => headerOf(head, "origin") !== undefined,
  refusalOf: (head) => refusalOfToken(head, tokens)
})

/** Verification of a request's token by the endpoints, as a contract declares it. */
export const authority = Layer.effect(
  BearerAuthority,
  Effect.map(LocalToken, (token) => ({
    bearer: (handler, { credential }) =>
      token.matches(Redacted.value(credential)) ? handler : withErrorObject(Effect.fail(new Unauthorized()))
  }))
)

/** Request rate of an Edge, with one token bucket for the holder of the token and another for all other callers. */
export class RateLimit {
  private readonly buckets: Buckets

  /** `now` in milliseconds. Allows all requests of a second together. */
  constructor(perSecond: number, now: () => number) {
    this.buckets = new Buckets(perSecond, now)
  }

  /** Whether one more request may be served; if so it is counted. */
  take(holdsToken: boolean): boolean {
    return this.buckets.take(holdsToken ? "holder" : "others")
  }
}

/** Principal of requests to a local Edge: the holder of its token. */
export const LOCAL_PRINCIPAL = "local"
