/**
 * Event stream: the WebSocket `/v1/events` of an Edge and `/client/events` of a Hub. Separate from the HTTP contracts.
 *
 * The server sends envelopes as JSON text: stored events with `seq > after`, then live ones. Without `runId` it sends all runs, each in the
 * order of its events. A request is refused before the upgrade, with an error object.
 */
import { Schema } from "effect"
import { RunId, SessionId } from "../identity/Ids.ts"

/** The last `seq` that the client has; 0 for none. */
export const After = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Query of an Edge's stream. `token` replaces the Authorization header, which browsers cannot set on a WebSocket. */
export const EdgeStreamQuery = Schema.Struct({
  runId: Schema.optionalKey(RunId),
  token: Schema.optionalKey(Schema.String),
  after: Schema.optionalKey(After)
})
export type EdgeStreamQuery = typeof EdgeStreamQuery.Type

/** Query of the Hub's stream: one run, or all runs of one session. */
export const HubStreamQuery = Schema.Struct({
  runId: Schema.optionalKey(RunId),
  sessionId: Schema.optionalKey(SessionId),
  after: Schema.optionalKey(After)
})
export type HubStreamQuery = typeof HubStreamQuery.Type

/** Decoders of query values, which are strings. */
export const decodeEdgeStreamQuery = Schema.decodeUnknownResult(Schema.toCodecStringTree(EdgeStreamQuery))
export const decodeHubStreamQuery = Schema.decodeUnknownResult(Schema.toCodecStringTree(HubStreamQuery))
