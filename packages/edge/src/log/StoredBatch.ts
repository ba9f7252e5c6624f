/** Events of a run in the order of their `seq`: new ones, and batches as they are stored. */
import type { RunId } from "@corral/domain/identity/Ids"

/** Events to append, as JSON lines without a final newline. They are one text, so that the single lines do not live until the commit. */
export interface NewEvents {
  readonly runId: RunId
  readonly firstSeq: number
  readonly count: number
  readonly lines: string
  readonly terminal: boolean
  /** Outputs of the runtime that the run has applied with these events; only of a run that outlives its Edge. */
  readonly outputs?: number | undefined
}

/** Events of one append, as JSON lines without a final newline. All readers that are up to date share the object. */
export interface StoredBatch {
  /** Position among the batches of all runs. 0 on a batch that was just appended. */
  readonly batch: number
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  readonly lines: string
  /** The lines in UTF-8, if they were encoded for the checksum. Frames contain them. */
  readonly bytes?: Buffer
  /** Whether the batch has the last event of its run. */
  readonly terminal: boolean
}

/** The part of a batch after the event `after`. */
export const cutBefore = (
  { batch, firstSeq, lastSeq, lines, runId, terminal }: StoredBatch,
  after: number
): StoredBatch => ({
  batch,
  runId,
  firstSeq: after + 1,
  lastSeq,
  lines: lines
    .split("\n")
    .slice(after + 1 - firstSeq)
    .join("\n"),
  terminal
})
