/**
 * Deadlines of requests by endpoint. A request that waits for an Edge or an identity provider, or reads a file, has more time than the longest of
 * these waits. Streams and downloads have none.
 */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { EndpointName } from "@corral/domain/hub-api/HubAuthorization"
import { requestDeadlines } from "@corral/service/http/RequestDeadline"
import { HttpApi } from "effect/http-api"

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
  "runs.cancel": COMMAND_DEADLINE_MS,
  "runs.pause": COMMAND_DEADLINE_MS,
  "runs.resume": COMMAND_DEADLINE_MS,
  "runs.finish": COMMAND_DEADLINE_MS,
  "runs.input": COMMAND_DEADLINE_MS,
  "runs.diff": COMMAND_DEADLINE_MS,
  "runs.artifacts": COMMAND_DEADLINE_MS,
  "runs.openPreview": COMMAND_DEADLINE_MS,
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

export const deadlineMsOf = (method: string, path: string): number | undefined => {
  const route = `${method} ${path}`
  return byRoute.has(route) ? byRoute.get(route) : DEFAULT_MS
}

export const hubDeadlines = requestDeadlines(deadlineMsOf)
