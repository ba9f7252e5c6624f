/**
 * Client of an Edge, with promises and async iterators: all endpoints of its contract, and its event streams.
 *
 * In a browser: a page whose origin the Edge lists (`CORRAL_EDGE_ALLOWED_ORIGINS`), such as that of a desktop shell. All others are refused.
 */
import type { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import type { Run } from "@corral/domain/run/Run"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunView } from "@corral/domain/run/RunView"
import { edgePaths } from "./edgePaths.ts"
import { pathOf, type PromiseCalls, promiseCalls, signalOf } from "./http/Endpoints.ts"
import { Transport, type TransportOptions } from "./http/Transport.ts"
import { decodeEventFields } from "./run/EventFields.ts"
import { flattened, viewRun } from "./run/viewRun.ts"
import { openEventStream } from "./stream/EventBody.ts"
import { type EventSocketSource, socketEventBatches } from "./stream/EventSockets.ts"
import type { ReconnectionOptions } from "./stream/Reconnection.ts"
import { runEventBatches, type RunEventOptions, type RunEventSource } from "./stream/RunEvents.ts"

export interface EdgeStreams {
  /** Events of one run, to its end. */
  readonly runEvents: (id: string, options?: RunEventOptions<Run>) => AsyncGenerator<SequencedEvent>
  /** View of one run after each group of events, to its end. */
  readonly runView: (id: string, options?: RunEventOptions<Run>) => AsyncGenerator<RunView>
  /** Events of all runs, stored ones first, until the caller stops. */
  readonly allEvents: (options?: ReconnectionOptions) => AsyncGenerator<SequencedEvent>
}

export type EdgeConnection = PromiseCalls<typeof EdgeApi> & EdgeStreams

const endpoints = (transport: Transport) => promiseCalls<typeof EdgeApi>(edgePaths, transport)

export const edgeEventSource = (transport: Transport, id: string): RunEventSource<Run> => ({
  open: (after, signal) =>
    openEventStream(
      transport,
      pathOf(edgePaths.runs.events[1], { params: { id }, query: { after } }),
      signal
    ),
  run: (signal) => endpoints(transport).runs.get({ params: { id }, ...signalOf(signal) })
})

/** Stream of all runs. */
export const edgeSocketSource = (transport: Transport): EventSocketSource => ({
  transport,
  path: "/v1/events",
  tokenParameter: "token",
  probe: (signal) => endpoints(transport).runs.list({ query: { limit: 1 }, ...signalOf(signal) })
})

/** Client of the Edge at `url`, with the content of its token file. */
export const edgeClient = (options: TransportOptions): EdgeConnection => {
  const transport = new Transport(options)
  const batches = (id: string) => (following: RunEventOptions<Run>) =>
    runEventBatches(edgeEventSource(transport, id), decodeEventFields, following)
  return {
    ...endpoints(transport),
    runEvents: (id, following = {}) => flattened(batches(id)(following)),
    runView: (id, following = {}) => viewRun(batches(id), following),
    allEvents: (following = {}) =>
      flattened(socketEventBatches(edgeSocketSource(transport), decodeEventFields, following))
  }
}
