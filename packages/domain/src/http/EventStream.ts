/**
 * The event stream: WebSocket `/v1/events` on Edge, `/client/events` on the Hub. It stands beside the HTTP contract.
 *
 * Frames are envelopes as JSON text, server to client only: every stored event with `seq > after`, then live ones. Without `runId` all
 * runs are sent, each in its own order. A refusal happens before the upgrade, as an error object.
 */
import { Schema } from "effect"
import { RunId, SessionId } from "../identity/Ids.ts"

/** The last `seq` that a client has; 0 is the start. */
export const After = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Query of Edge's stream. `token` stands in for the Authorization header, which browsers cannot set on a WebSocket. */
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

/** Query values are strings; these decode them. */
export const decodeEdgeStreamQuery = Schema.decodeUnknownResult(Schema.toCodecStringTree(EdgeStreamQuery))
export const decodeHubStreamQuery = Schema.decodeUnknownResult(Schema.toCodecStringTree(HubStreamQuery))

/** Why a server closes a stream. */
export const closeCodes = {
  /** The run's terminal event was sent. */
  ended: 1000,
  /** The stored events that follow are damaged: the run cannot be read beyond the last event that was sent. */
  damaged: 1011,
  /** The reader stalled for 30 s: reconnect with `after`. */
  stalled: 1013,
  /** `replay_gap`: retention has passed the asked position; what is missing is gone. */
  replayGap: 4410
} as const
export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes]

/** The Hub's stream also ends when the reader loses access. A new connection is refused with 401 or 403. */
export const hubCloseCodes = {
  ...closeCodes,
  /** The sign-in was ended or has expired. */
  signInEnded: 4401,
  /** The reader no longer has access to the project. */
  accessLost: 4403
} as const
export type HubCloseCode = (typeof hubCloseCodes)[keyof typeof hubCloseCodes]

/** Seconds between pings, and how long a stalled reader is kept. */
export const PING_EVERY_SECONDS = 20
export const STALLED_AFTER_SECONDS = 30
/** Seconds after which the Hub has looked again, at the latest, whether a reader may read. */
export const REAUTHORIZED_WITHIN_SECONDS = 60
