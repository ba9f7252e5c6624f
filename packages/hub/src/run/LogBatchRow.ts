/** Row of `run_events`: consecutive events of one run. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { LogBatch } from "@corral/service/stream/LogSource"

/** Plain: every reader of a log reads it. */
export interface LogBatchRow {
  readonly first_seq: number
  readonly last_seq: number
  readonly terminal: boolean
  readonly lines: string
}

/** The events of a stored batch after `after`. */
export const batchAfter = (runId: RunId, row: LogBatchRow, after: number): LogBatch => {
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
