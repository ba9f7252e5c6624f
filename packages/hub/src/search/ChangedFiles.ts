/** Names of the files that a run changed, from its log. Reads a bounded part of a long log. */
import type { RunId } from "@corral/domain/identity/Ids"
import { decodeReceivedEvent } from "@corral/domain/run/RunEvent"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"

/** Names per run. */
const MAX_FILES = 1_000
/** Batches per statement, and per run: a batch has about 64 KiB. */
const PAGE = 16
const MAX_BATCHES = 1_600

const MARK = `"run.file.changed"`

const fileBatchRows = storedRows(
  "run_events",
  Schema.Struct({ last_seq: Schema.Int, lines: Schema.NullOr(Schema.String) })
)

const addNames = (names: Set<string>, lines: string): void => {
  for (const line of lines.split("\n")) {
    const received = line.includes(MARK) ? decodeReceivedEvent(JSON.parse(line)) : undefined
    if (received?._tag !== "KnownEvent" || received.event.type !== "run.file.changed") continue
    const { fromPath, path } = received.event.payload
    names.add(path)
    if (fromPath !== undefined) names.add(fromPath)
  }
}

export const changedFilesOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  runId: RunId
): Effect.fn.Return<ReadonlyArray<string>, SqlError.SqlError> {
  const names = new Set<string>()
  let after = 0
  for (let read = 0; read < MAX_BATCHES && names.size < MAX_FILES; read += PAGE) {
    const batches = yield* fileBatchRows.all(sql`
      SELECT last_seq, CASE WHEN position(${MARK} IN lines) > 0 THEN lines END AS lines FROM run_events
      WHERE run_id = ${runId} AND last_seq > ${after} ORDER BY last_seq LIMIT ${PAGE}`)
    for (const { last_seq, lines } of batches) {
      if (lines !== null) addNames(names, lines)
      after = last_seq
    }
    if (batches.length < PAGE) break
  }
  return [...names].slice(0, MAX_FILES)
})
