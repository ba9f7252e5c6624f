/**
 * End of an event stream: its close codes, and the times after which a connection is lost. Imports no runtime code of Effect, so that it fits a
 * browser.
 */

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

/** Seconds between pings. */
export const PING_EVERY_SECONDS = 20
/** Seconds after which a stalled reader is disconnected. */
export const STALLED_AFTER_SECONDS = 30
/** Longest time in seconds between two checks of a reader's access by the Hub. */
export const REAUTHORIZED_WITHIN_SECONDS = 60
