/**
 * Event stream: the WebSocket `/v1/events` of an Edge and `/client/events` of a Hub. Separate from the HTTP contracts. Also the start position of a
 * reader, by the same rule for pages, event streams and WebSockets of every service.
 *
 * The server sends envelopes as JSON text: stored events with `seq > after`, then live ones. Without `runId` it sends all runs, each in the order
 * of its events. A request is refused before the upgrade, with an error object.
 */
import type { ValidationIssue } from "../errors/ErrorTable.ts"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import { RunId, SessionId } from "../identity/Ids.ts"
import { Schema } from "effect"

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

/** Validation issue for a position beyond the last event of the run. */
export const beyondEnd = (path: "after" | "last-event-id"): ValidationIssue => ({
  path,
  message: "is beyond the last event of the run"
})

/**
 * The `seq` after which the reader starts, or the failure for an invalid position. `Last-Event-ID` overrides `after`, because a reader that
 * reconnects repeats its first address.
 */
export const startAfter = (
  after: typeof After.Type | undefined,
  lastEventId: string | undefined,
  lastSeq: number
): number | SchemaValidationFailed => {
  const isResumed = lastEventId !== undefined && lastEventId !== ""
  const path = isResumed ? "last-event-id" : "after"
  const invalid = (issue: ValidationIssue) => new SchemaValidationFailed({ details: { issues: [issue] } })
  if (isResumed && !/^\d{1,15}$/.test(lastEventId)) return invalid({ path, message: "Expected a seq" })
  const start = isResumed ? Number(lastEventId) : (after ?? 0)
  return start > lastSeq ? invalid(beyondEnd(path)) : start
}
