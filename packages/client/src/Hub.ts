/**
 * Client of a Hub, with promises and async iterators: all endpoints of its contract, and its event streams.
 *
 * A program authenticates with an API key or the token of a sign-in. A page of the Hub's origin uses `url: ""`, no token, and
 * `headers: csrfHeaders`.
 */
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { HubApi } from "@corral/domain/hub-api/HubApi"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunView } from "@corral/domain/run/RunView"
import { pathOf, type PromiseCalls, promiseCalls, signalOf } from "./http/Endpoints.ts"
import { type HeaderValues, Transport, type TransportOptions } from "./http/Transport.ts"
import { hubPaths } from "./hubPaths.ts"
import { decodeEventFields } from "./run/EventFields.ts"
import { flattened, viewRun } from "./run/viewRun.ts"
import { changeHintBatches } from "./stream/ChangeHints.ts"
import { openEventStream } from "./stream/EventBody.ts"
import { type EventSocketSource, socketEventBatches } from "./stream/EventSockets.ts"
import type { ReconnectionOptions } from "./stream/Reconnection.ts"
import { runEventBatches, type RunEventOptions, type RunEventSource } from "./stream/RunEvents.ts"

export interface HubStreams {
  /** Events of one run, to its end. */
  readonly runEvents: (id: string, options?: RunEventOptions<HubRun>) => AsyncGenerator<SequencedEvent>
  /** View of one run after each group of events, to its end. */
  readonly runView: (id: string, options?: RunEventOptions<HubRun>) => AsyncGenerator<RunView>
  /** Events of all runs of a session, stored ones first, until the caller stops. */
  readonly sessionEvents: (id: string, options?: ReconnectionOptions) => AsyncGenerator<SequencedEvent>
  /** Hints about changed devices, approvals, tasks and runs, until the caller stops. */
  readonly changes: (options?: ReconnectionOptions) => AsyncGenerator<ChangeHint>
}

export type HubConnection = Omit<PromiseCalls<typeof HubApi>, "news"> & HubStreams

/** Calls without event streams: the smallest part for a page that loads the rest later. */
export const hubCalls = (transport: Transport) => promiseCalls<typeof HubApi>(hubPaths, transport)

export const hubEventSource = (transport: Transport, id: string): RunEventSource<HubRun> => ({
  open: (after, signal) =>
    openEventStream(transport, pathOf(hubPaths.runs.events[1], { params: { id }, query: { after } }), signal),
  run: (signal) => hubCalls(transport).runs.get({ params: { id }, ...signalOf(signal) })
})

/** Stream of a session's runs. */
export const hubSocketSource = (transport: Transport, sessionId: string): EventSocketSource => ({
  transport,
  path: pathOf("/client/events", { query: { sessionId } }),
  probe: (signal) => hubCalls(transport).sessions.get({ params: { id: sessionId }, ...signalOf(signal) })
})

/** The change feed in groups. */
export const hubChanges = (transport: Transport, options: ReconnectionOptions) =>
  changeHintBatches((signal) => openEventStream(transport, hubPaths.news.follow[1], signal), options)

/** Client of the Hub at `url`. */
export const hubClient = (options: TransportOptions): HubConnection => {
  const transport = new Transport(options)
  const batches = (id: string) => (following: RunEventOptions<HubRun>) =>
    runEventBatches(hubEventSource(transport, id), decodeEventFields, following)
  return {
    ...hubCalls(transport),
    runEvents: (id, following = {}) => flattened(batches(id)(following)),
    runView: (id, following = {}) => viewRun(batches(id), following),
    sessionEvents: (id, following = {}) =>
      flattened(socketEventBatches(hubSocketSource(transport, id), decodeEventFields, following)),
    changes: (following = {}) => flattened(hubChanges(transport, following))
  }
}

/** Headers of a page of the Hub: writes repeat the CSRF token of the sign-in. The cookie of a Hub below a path has another prefix. */
export const csrfHeaders = (method: string): HeaderValues => {
  if (method === "GET") return {}
  const pairs = document.cookie.split("; ")
  const named = (prefix: string) => pairs.find((pair) => pair.startsWith(`${prefix}-corral-csrf=`))
  // A page of a Hub below a path also sees the cookies of one at the root.
  const found = named("__Secure") ?? named("__Host")
  return { "x-csrf-token": decodeURIComponent(found?.slice(found.indexOf("=") + 1) ?? "") }
}
