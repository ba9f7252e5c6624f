/** The Hub's mirror of run logs (PostgreSQL) as the source of event streams and pages. */
import { closeCodes } from "@corral/domain/http/StreamEnd"
import type { RunId } from "@corral/domain/identity/Ids"
import { withoutGap } from "@corral/service/stream/Gap"
import type { LogSource, SocketClose } from "@corral/service/stream/LogSource"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { RunLog } from "../run/RunLog.ts"
import type { RunFeeds } from "./RunFeeds.ts"

export type HubLogSource = LogSource<SqlError.SqlError>

/** Stores that a source reads. */
export interface HubLogs {
  readonly feeds: RunFeeds["Service"]
  readonly log: RunLog["Service"]
}

/** Closes a reader of a log that cannot be read now: the reader may try again. */
export const LOG_UNREADABLE: SocketClose = { code: closeCodes.stalled, reason: "the log cannot be read" }

/** The log of one run. */
export const hubRunSource = ({ feeds, log }: HubLogs, runId: RunId): HubLogSource => ({
  read: (after, budget) =>
    Effect.flatMap(log.read(runId, after, budget), (batches) => withoutGap(batches, after)),
  follow: (follower) => feeds.follow(runId, { followerOf: () => follower, wakeAll: () => follower.wake() }),
  hasDropped: () => false,
  closeFor: () => LOG_UNREADABLE
})
