/**
 * What the Hub asks of every request and upgrade: its own Host and Origin, one credential, a CSRF header on writes with the session cookie,
 * and a body of the expected kind; and how long it may take. Pure. `SessionAuthority` verifies the credential later.
 */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { EndpointName } from "@corral/domain/hub-api/HubAuthorization"
import { CSRF_HEADER } from "@corral/domain/hub-api/SessionAuthority"
import { UPLOADS_PATH } from "@corral/domain/hub-api/Uploads"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { requestDeadlines } from "@corral/service/http/RequestDeadline"
import {
  type BodyKind,
  headerOf,
  type RequestHead,
  type RequestPolicy,
  type ServiceNames
} from "@corral/service/http/RequestGuard"
import { isSameSecret } from "@corral/service/SecretComparison"
import { HttpApi } from "effect/http-api"
import { csrfOf } from "../signin/SessionToken.ts"
import { credentialOf } from "./Callers.ts"

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

const DEFAULT_MS = 10_000
/** Longer than a command may take (`EdgeRouter`). */
export const COMMAND_DEADLINE_MS = 30_000

/** Endpoints with another deadline than the default; `undefined`: none. */
const deadlines: Partial<Readonly<Record<EndpointName, number | undefined>>> = {
  "signIn.login": COMMAND_DEADLINE_MS,
  "signIn.callback": COMMAND_DEADLINE_MS,
  "signIn.backchannelLogout": COMMAND_DEADLINE_MS,
  "uploads.create": COMMAND_DEADLINE_MS,
  "approvals.decide": COMMAND_DEADLINE_MS,
  "inputs.answer": COMMAND_DEADLINE_MS,
  "files.folder": COMMAND_DEADLINE_MS,
  "files.file": COMMAND_DEADLINE_MS,
  "taskGroups.comparison": COMMAND_DEADLINE_MS,
  "taskGroups.stop": COMMAND_DEADLINE_MS,
  "taskGroups.pause": COMMAND_DEADLINE_MS,
  "taskGroups.resume": COMMAND_DEADLINE_MS,
  "taskGroups.continue": COMMAND_DEADLINE_MS,
  "runs.cancel": COMMAND_DEADLINE_MS,
  "runs.pause": COMMAND_DEADLINE_MS,
  "runs.resume": COMMAND_DEADLINE_MS,
  "runs.finish": COMMAND_DEADLINE_MS,
  "runs.input": COMMAND_DEADLINE_MS,
  "runs.diff": COMMAND_DEADLINE_MS,
  "runs.artifacts": COMMAND_DEADLINE_MS,
  "runs.openPreview": COMMAND_DEADLINE_MS,
  "changeSets.get": COMMAND_DEADLINE_MS,
  "changeSets.file": COMMAND_DEADLINE_MS,
  "changeSets.accept": COMMAND_DEADLINE_MS,
  "changeSets.reject": COMMAND_DEADLINE_MS,
  "changeSets.undo": COMMAND_DEADLINE_MS,
  "changeSets.acceptInSession": COMMAND_DEADLINE_MS,
  "changeSets.rejectInSession": COMMAND_DEADLINE_MS,
  "changeSets.undoInSession": COMMAND_DEADLINE_MS,
  "tasks.create": COMMAND_DEADLINE_MS,
  "tasks.cancel": COMMAND_DEADLINE_MS,
  "sessions.addMessage": COMMAND_DEADLINE_MS,
  "sessions.withdrawMessage": COMMAND_DEADLINE_MS,
  "runs.artifactContent": undefined,
  "runs.events": undefined,
  "news.follow": undefined,
  "conversations.export": undefined,
  "audit.export": undefined,
  "audit.verify": undefined
}

/** Milliseconds by method and path. */
const byRoute: ReadonlyMap<string, number | undefined> = (() => {
  const found = new Map<string, number | undefined>()
  HttpApi.reflect(HubApi, {
    predicate: ({ endpoint, group }) => {
      const name = `${group.identifier}.${endpoint.identifier}` as EndpointName
      found.set(`${endpoint.method} ${endpoint.path}`, name in deadlines ? deadlines[name] : DEFAULT_MS)
      return false
    },
    onGroup: () => undefined,
    onEndpoint: () => undefined
  })
  return found
})()

/**
 * Deadline of a request by its endpoint. A request that waits for an Edge or an identity provider, or reads a file, has more time than the longest of
 * these waits. Streams and downloads have none.
 */
export const deadlineMsOf = (method: string, path: string): number | undefined => {
  const route = `${method} ${path}`
  return byRoute.has(route) ? byRoute.get(route) : DEFAULT_MS
}

export const hubDeadlines = requestDeadlines(deadlineMsOf)
