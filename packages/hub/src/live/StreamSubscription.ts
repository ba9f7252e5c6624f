/**
 * What an admitted event stream follows, and for whom. Also the log that it follows: the Hub's mirror of runs.
 */
import type { Principal } from "@corral/domain/hub-api/SessionAuthority"
import type { ProjectId, RequestId, RunId, SessionId } from "@corral/domain/identity/Ids"
import { type LogSource, type SocketClose, type Start, withoutGap } from "@corral/service/stream/LogSource"
import { closeCodes } from "@corral/domain/http/StreamEnd"
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { RunLog } from "../run/RunLog.ts"
import type { RunFeeds } from "./RunFeeds.ts"

// The Hub's mirror of run logs (PostgreSQL) as the source of event streams and pages.

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

/** One run, from a position on. */
export interface RunSubject extends Start {
  readonly runId: RunId
}

/** All runs of a session. */
export interface SessionSubject {
  readonly sessionId: SessionId
}

export interface HubSubscription {
  readonly principal: Principal
  readonly projectId: ProjectId
  /** Request that started the stream: later permission checks are audited under it. */
  readonly requestId: RequestId
  readonly subject: RunSubject | SessionSubject
}

/** A stream that needs only a sign-in: it checks the permission for each thing it sends. */
export type SignedInStream = Pick<HubSubscription, "principal" | "requestId">

/** Reason why a stream must end. */
export type LostAccess = "signInEnded" | "accessLost"
