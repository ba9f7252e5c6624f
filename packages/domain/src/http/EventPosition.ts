/** Start position of a reader in a run's log. The same rule for pages, event streams and WebSockets of every service. */
import { type After } from "./EventStream.ts"
import { SchemaValidationFailed } from "../errors/Failures.ts"
import type { ValidationIssue } from "../errors/ErrorTable.ts"

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
