/** Codec of the table `run_events`: consecutive events of one run. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { Schema } from "effect"
import { storedRows } from "../store/StoredRows.ts"

const LogBatchRow = Schema.Struct({
  first_seq: Schema.Int,
  last_seq: Schema.Int,
  terminal: Schema.Boolean,
  /** One event per line. Clients decode the events. */
  lines: Schema.String
})

export const logBatchRows = storedRows("run_events", LogBatchRow)

/** The events of a stored batch after `after`. */
export const batchAfter = (runId: RunId, row: typeof LogBatchRow.Type, after: number): LogBatch => {
  const { first_seq, last_seq, lines, terminal } = row
  const isWhole = first_seq > after
  return {
    runId,
    firstSeq: isWhole ? first_seq : after + 1,
    lastSeq: last_seq,
    lines: isWhole
      ? lines
      : lines
          .split("\n")
          .slice(after + 1 - first_seq)
          .join("\n"),
    terminal
  }
}
