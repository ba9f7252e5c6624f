/** Whether a failed run ended before its agent said or did anything. */
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"

/** A longer log contains output: these are at most a handful. */
const MAX_EVENTS = 64

/** Events of a run whose agent has not answered yet. */
const silent: ReadonlySet<string> = new Set([
  "run.created",
  "run.started",
  "run.failed",
  // Its request says whether it counts.
  "run.approval.resolved",
  "run.paused",
  "run.resumed",
  "run.diff.ready",
  "run.protected.changed",
  "run.repository.changed",
  "run.changes.unknown",
  "runtime.unavailable",
  "runtime.retrying",
  "runtime.timeout",
  "schema.validation_failed"
])

const lineRows = storedRows("run_events", Schema.Struct({ lines: Schema.String }))

interface LoggedEvent {
  readonly type?: unknown
  readonly payload?: {
    readonly role?: unknown
    readonly request?: { readonly action?: unknown; readonly tool?: unknown }
  }
}

/** A runtime can connect before it opens its conversation: the Edge asks about that, and says what it refused. */
const isConnection = (request: NonNullable<LoggedEvent["payload"]>["request"]): boolean =>
  request?.action === "network" && request.tool === undefined

const isSilent = (line: string): boolean => {
  // Events were checked when they were pushed.
  const { payload, type } = JSON.parse(line) as LoggedEvent
  if (type === "run.message.completed") return payload?.role === "user" || payload?.role === "system"
  if (type === "run.approval.requested") return isConnection(payload?.request)
  return silent.has(String(type))
}

export const failedBeforeOutput = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runId: RunId,
  lastSeq: number
) {
  if (lastSeq > MAX_EVENTS) return false
  const rows = yield* lineRows.all(
    sql`SELECT lines FROM run_events WHERE run_id = ${runId} ORDER BY last_seq`
  )
  return rows.flatMap(({ lines }) => lines.split("\n")).every(isSilent)
})
