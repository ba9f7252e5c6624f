/** Where a reader of a run's log starts: one rule for pages, event streams and WebSockets of every service. */
import { type After } from "./EventStream.ts"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import type { ValidationIssue } from "../errors/ErrorTable.ts"

/** Validation issue for a position beyond the last event of the run. */
export const beyondEnd = (path: "after" | "last-event-id"): ValidationIssue => ({
  path,
  message: "is beyond the last event of the run"
})

/** The first position that was sent; `Last-Event-ID` wins, because a reader that reconnects repeats the address it began with. */
export const startAfter = (
  after: typeof After.Type | undefined,
  lastEventId: string | undefined,
  lastSeq: number
): number | SchemaValidationFailed => {
  const isResumed = lastEventId !== undefined && lastEventId !== ""
  const path = isResumed ? "last-event-id" : "after"
  const refused = (issue: ValidationIssue) => new SchemaValidationFailed({ details: { issues: [issue] } })
  if (isResumed && !/^\d{1,15}$/.test(lastEventId)) return refused({ path, message: "Expected a seq" })
  const start = isResumed ? Number(lastEventId) : (after ?? 0)
  return start > lastSeq ? refused(beyondEnd(path)) : start
}
