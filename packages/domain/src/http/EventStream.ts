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

/** Close codes of an event stream. */
export const closeCodes = {
  /** The run's terminal event was sent. */
  ended: 1000,
  /** The next stored events are damaged. The run cannot be read beyond the last event that was sent. */
  damaged: 1011,
  /** The reader stalled for 30 s. It can reconnect with `after`. */
  stalled: 1013,
  /** `replay_gap`: retention has deleted events after the requested position. */
  replayGap: 4410
} as const
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

/** Close codes of the Hub, which also closes streams of readers that lose access. A new connection is then refused with 401 or 403. */
export const hubCloseCodes = {
  ...closeCodes,
  /** The sign-in was revoked or has expired. */
  signInEnded: 4401,
  /** The reader no longer has access to the project. */
  accessLost: 4403
} as const
export type HubCloseCode = (typeof hubCloseCodes)[keyof typeof hubCloseCodes]

/** Seconds between pings. */
export const PING_EVERY_SECONDS = 20
/** Seconds after which a stalled reader is disconnected. */
export const STALLED_AFTER_SECONDS = 30
/** Longest time in seconds between two checks of a reader's access by the Hub. */
export const REAUTHORIZED_WITHIN_SECONDS = 60
