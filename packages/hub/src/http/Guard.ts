/**
 * What every request and every upgrade must pass before anything of it is routed: the right Host, no foreign Origin, one credential, a
 * CSRF header where the credential is a cookie, a body of a known kind and acceptable size. One function, so that no route can forget it.
 *
 * Pure. Whether the credential is worth anything is found later, by `SessionAuthority`.
 */
import { CHAT_ACCOUNT_HEADER } from "@corral/domain/chat/ChatAccount"
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type { RequestAuthorization } from "@corral/service/http/Listener"
import { timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import type { Credential } from "../signin/Credentials.ts"
import { csrfOf } from "../signin/SessionToken.ts"

export interface GuardedRequest {
  readonly method: string
  /** As sent: path and query, or an absolute form, which is refused. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: ReadonlyArray<string>
  readonly upgrade: boolean
}

export interface GuardOptions {
  /** Values of Host under which this Hub is reached, port included. */
  readonly hosts: ReadonlySet<string>
  /** Origins of its own pages. */
  readonly origins: ReadonlySet<string>
}

export const MAX_BODY_BYTES = 1_048_576

/** Posted by the identity provider's server, as a form; no browser comes here. */
const LOGOUT_PATH = "/client/auth/backchannel-logout"

const refuse = (code: ErrorCode, message?: string): RequestAuthorization =>
  message === undefined ? { _tag: "Refuse", code } : { _tag: "Refuse", code, message }

const isOurHost = ({ headers, rawHeaders }: GuardedRequest, hosts: ReadonlySet<string>): boolean => {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === "host") count++
  return count === 1 && headers.host !== undefined && hosts.has(headers.host)
}

/** The session's token in the cookies; "" where the cookie came more than once. */
export const cookieToken = ({ cookie = "" }: IncomingHttpHeaders): string | undefined => {
  const found = cookie
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${SESSION_COOKIE}=`))
  return found.length > 1 ? "" : found[0]?.slice(SESSION_COOKIE.length + 1)
}

/** The bearer token; "" where the header says something else. */
export const bearerToken = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  authorization === undefined ? undefined : (/^Bearer +(\S+) *$/i.exec(authorization)?.[1] ?? "")

const chatAccountOf = ({ [CHAT_ACCOUNT_HEADER]: named }: IncomingHttpHeaders): string | undefined =>
  typeof named === "string" ? named : undefined

/** What a request came with. */
export const credentialOf = (headers: IncomingHttpHeaders): Credential => ({
  bearer: bearerToken(headers),
  cookie: cookieToken(headers),
  chatAccount: chatAccountOf(headers)
})

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const isSafe = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS"

/** A browser that follows a link or comes back from the identity provider: it only reads. */
const isNavigation = ({ headers, method }: GuardedRequest): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate"

export const guard = (request: GuardedRequest, { hosts, origins }: GuardOptions): RequestAuthorization => {
  const { headers, method, target, upgrade } = request
  if (!isOurHost(request, hosts)) return refuse("permission_denied", "The Host header names another server.")
  if (!target.startsWith("/")) return refuse("permission_denied", "The request target names another server.")
  const { origin } = headers
  if (origin !== undefined && !origins.has(origin))
    return refuse("permission_denied", "This Origin may not reach the Hub.")
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none" && !isNavigation(request))
    return refuse("permission_denied", "Cross-site requests are refused.")

  const [bearer, cookie] = [bearerToken(headers), cookieToken(headers)]
  if (bearer !== undefined && cookie !== undefined)
    return refuse("unauthorized", "Send a bearer token or the session's cookie, not both.")
  if (cookie !== undefined) {
    // An upgrade is a read that goes on: browsers send its Origin, and cannot send a header of ours.
    if ((upgrade || !isSafe(method)) && origin === undefined)
      return refuse("permission_denied", "A request with the session's cookie needs an Origin.")
    const csrf = headers[CSRF_HEADER]
    if (!upgrade && !isSafe(method) && !(typeof csrf === "string" && same(csrf, csrfOf(cookie))))
      return refuse("permission_denied", `A write with the session's cookie needs the header ${CSRF_HEADER}.`)
  }
  if (hasBody(headers)) {
    if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) return refuse("payload_too_large")
    const wanted =
      target.split("?", 1)[0] === LOGOUT_PATH
        ? /^application\/x-www-form-urlencoded\s*(;|$)/i
        : /^application\/json\s*(;|$)/i
    if (!wanted.test(headers["content-type"] ?? "")) return refuse("unsupported_media_type")
  }
  return { _tag: "Pass" }
}
