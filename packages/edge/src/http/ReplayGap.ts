/** Where a log is asked for that retention has dropped. A socket is closed with 4410 (`EventSocket`); here is what HTTP answers. */
import { Conflict } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { EdgeEventLog } from "../log/EdgeEventLog.ts"

/** Fails where events after `after` are no longer kept. The error table's 410 is of approvals; this is the nearest that clients know. */
export const requireKept = (
  log: EdgeEventLog["Service"],
  runId: RunId,
  after: number
): Effect.Effect<void, Conflict> =>
  Effect.suspend(() => {
    if (!log.isForgotten(runId) || after >= log.lastSeq(runId)) return Effect.void
    return Effect.fail(
      new Conflict({
        message: "The events of this run are no longer kept. The run itself says how it ended.",
        details: { reason: "replay_gap", lastSeq: log.lastSeq(runId) }
      })
    )
  })
