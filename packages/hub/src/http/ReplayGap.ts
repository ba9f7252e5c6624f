/** Where events are asked for that retention has dropped. A socket is closed with 4410 (`EventSocket`); here is what HTTP answers. */
import { Conflict } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { LogBatch } from "../run/LogBatch.ts"

/** Logs are dense: what does not follow on `after` is all that is kept. */
export const isGap = (batches: ReadonlyArray<LogBatch>, after: number): boolean => {
  const first = batches[0]
  return first !== undefined && first.firstSeq > after + 1
}

/** The error table's 410 is of approvals; this is the nearest that clients know. */
export const requireKept = (
  batches: ReadonlyArray<LogBatch>,
  after: number,
  lastSeq: number
): Effect.Effect<void, Conflict> =>
  isGap(batches, after)
    ? Effect.fail(
        new Conflict({
          message: "The events of this run are no longer kept. The run itself says how it ended.",
          details: { reason: "replay_gap", lastSeq }
        })
      )
    : Effect.void
