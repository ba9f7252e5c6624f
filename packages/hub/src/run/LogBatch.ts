/** Consecutive events of one run as they are stored: JSON lines without a final newline. */
import type { RunId } from "@corral/domain/identity/Ids"
import type { FrameBatch } from "@corral/service/http/Frames"

export interface LogBatch extends FrameBatch {
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  /** Whether it contains the last event of the run. */
  readonly terminal: boolean
}

/** Plain row of `run_events`: every reader of a log decodes it. */
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
