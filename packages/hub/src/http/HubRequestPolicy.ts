/**
 * What the Hub asks of every request and upgrade: its own Host and Origin, one credential, a CSRF header on writes with the session cookie,
 * and a body of the expected kind. Pure. `SessionAuthority` verifies the credential later.
 */
import { UPLOADS_PATH } from "@corral/domain/hub-api/Uploads"
import { CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import {
  type BodyKind,
  headerOf,
  type RequestHead,
  type RequestPolicy,
  type ServiceNames
} from "@corral/service/http/RequestGuard"
import { isSameSecret } from "@corral/service/SecretComparison"
import { csrfOf } from "../signin/SessionToken.ts"
import { credentialOf } from "./RequestCredential.ts"

/** The identity provider posts a form here from its server, without a browser. */
const LOGOUT_PATH = "/client/auth/backchannel-logout"

const isSafe = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS"

/** A browser that follows a link or returns from the identity provider: it only reads. */
const isNavigation = (head: RequestHead): boolean =>
  head.method === "GET" && headerOf(head, "sec-fetch-mode") === "navigate"

const refusalOfCredentials = (head: RequestHead): HttpRefusal | undefined => {
  const { bearer, cookie } = credentialOf(head.headers)
  if (bearer !== undefined && cookie !== undefined)
    return { code: "unauthorized", message: "Send a bearer token or the session cookie, not both." }
  if (cookie === undefined) return undefined
  const isWrite = !isSafe(head.method)
  // Browsers send the Origin of an upgrade, but cannot add the CSRF header.
  if ((head.isUpgrade || isWrite) && headerOf(head, "origin") === undefined)
    return { code: "permission_denied", message: "A request with the session cookie needs an Origin." }
  if (head.isUpgrade || !isWrite || isSameSecret(headerOf(head, CSRF_HEADER) ?? "", csrfOf(cookie)))
    return undefined
  return {
    code: "permission_denied",
    message: `A write with the session cookie needs the header ${CSRF_HEADER}.`
  }
}

export const hubRequestPolicy = (names: ServiceNames): RequestPolicy => ({
  names,
  allowsCrossSite: isNavigation,
  refusalOf: refusalOfCredentials,
  bodyKindAt: (path) => bodyKinds[path] ?? "json"
})

const bodyKinds: Readonly<Record<string, BodyKind>> = { [LOGOUT_PATH]: "form", [UPLOADS_PATH]: "file" }
