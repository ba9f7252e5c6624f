/**
 * Transaction that appends pushes to logs: it locks the runs, folds the events, and stores what follows from them.
 *
 * Guarantees: pushes are applied in their order. A push that is not admitted changes nothing and affects no other push.
 */
import type { DeviceId, RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Ack, EventBatch } from "@corral/domain/link/EdgeLink"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { Effect, Result } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { notify } from "../store/Notice.ts"
import type { PlannedSql } from "../store/PlannedSql.ts"
import type { PushedRun, PushRefusal } from "./PushedRun.ts"
import { storeConversationChanges } from "./RunConversation.ts"
import type { KnownRuns } from "./KnownRuns.ts"
import { storePlanTasks } from "./PlanTask.ts"
import { lockRuns, storeLocked } from "./RunLogWrites.ts"

/** Batches of events that one target has pushed together. */
export interface TargetPush {
  readonly targetId: DeviceId
  readonly batches: ReadonlyArray<EventBatch>
}

/** What is durable of a run after a push, and why it is not everything. */
export interface PushResult extends Ack {
  readonly refusal?: PushRefusal
}

/** The pushes that are not admitted, with the reason. Runs in the transaction, before anything else. */
export type Admission<P, E> = (
  pushes: ReadonlyArray<P>
) => Effect.Effect<ReadonlyMap<P, E>, SqlError.SqlError>

/** Growth of a log by a committed transaction. */
export interface LogGrowth {
  readonly runId: RunId
  readonly sessionId: SessionId | undefined
  readonly batches: ReadonlyArray<LogBatch>
}

export interface AppendContext {
  readonly sql: SqlClient.SqlClient
  /** For the statement that stores pushes of known runs. */
  readonly planned: PlannedSql["Service"]
  readonly now: () => Date
  /** Runs after the commit. Must not block and must not throw. */
  readonly onGrown: (growth: LogGrowth) => void
  /** A task was added for the target. Runs after the commit. Must not block and must not throw. */
  readonly onTask: (targetId: DeviceId) => void
  /** Counts events that are new to a log, after the commit. */
  readonly onAdded: (events: number) => void
}

/** Returns one result per push, in their order. */
export const appendPushes = <P extends TargetPush, E>(
  context: AppendContext,
  knownRuns: KnownRuns,
  pushes: ReadonlyArray<P>,
  admission: Admission<P, E>
): Effect.Effect<ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, E>>, SqlError.SqlError> =>
  context.sql.withTransaction(
    Effect.gen(function* () {
      const refused = yield* admission(pushes)
      const admitted = pushes.filter((push) => !refused.has(push))
      const results = yield* append(context, knownRuns, admitted)
      return pushes.map((push) => {
        const refusal = refused.get(push)
        return refusal === undefined ? Result.succeed(results.get(push) ?? []) : Result.fail(refusal)
      })
    })
  )

const append = Effect.fnUntraced(function* <P extends TargetPush>(
  context: AppendContext,
  knownRuns: KnownRuns,
  pushes: ReadonlyArray<P>
): Effect.fn.Return<ReadonlyMap<P, ReadonlyArray<PushResult>>, SqlError.SqlError> {
  const { now, sql } = context
  const runIds = [...new Set(pushes.flatMap(({ batches }) => batches.map(({ runId }) => runId)))]
  if (runIds.length === 0) return new Map()
  const runs = yield* lockRuns(sql, runIds)
  const runOf = (push: P, runId: RunId): PushedRun | undefined => {
    const run = runs.get(runId)
    return run?.row.target_id === push.targetId ? run : undefined
  }
  for (const push of pushes) for (const batch of push.batches) runOf(push, batch.runId)?.push(batch)
  const pushed = [...runs.values()].filter(({ isPushed }) => isPushed)
  const grown = pushed.filter((run) => run.batches.length > 0)
  if (grown.length > 0) {
    yield* storeLocked(sql, grown, now())
    yield* storeConversationChanges(sql, grown, now())
    const targets = yield* storePlanTasks(sql, grown, now())
    if (targets.size > 0) yield* sql.afterCommit(Effect.sync(() => targets.forEach(context.onTask)))
  }
  yield* publishPushed(context, knownRuns, pushed)
  return new Map(pushes.map((push) => [push, resultsOf(push, (runId) => runOf(push, runId))]))
})

/** The session is part of the notice because some readers follow every run of a session. */
const noticeOf = ({ row }: PushedRun): string =>
  row.session_id === null ? row.id : `${row.id} ${row.session_id}`

/** Passes on, after the commit, what was pushed. */
export const publishPushed = (
  { onAdded, onGrown, sql }: AppendContext,
  knownRuns: KnownRuns,
  pushed: ReadonlyArray<PushedRun>
): Effect.Effect<void> => {
  const publish = () => {
    let added = 0
    for (const run of pushed) {
      const { batches, lastSeq, row } = run
      if (batches.length === 0) continue
      knownRuns.note(run)
      added += lastSeq - row.last_seq
      onGrown({ runId: row.id, sessionId: row.session_id ?? undefined, batches })
    }
    onAdded(added)
  }
  // A notice also without new events: the Hub that stored them may have crashed before it sent the notice.
  return Effect.andThen(sql.afterCommit(Effect.sync(publish)), notify(sql, "run", ...pushed.map(noticeOf)))
}

const resultsOf = (
  { batches }: TargetPush,
  runOf: (runId: RunId) => PushedRun | undefined
): ReadonlyArray<PushResult> =>
  [...new Set(batches.map(({ runId }) => runId))].map((runId) => {
    const run = runOf(runId)
    if (run === undefined) return { runId, seq: 0, refusal: "unknown" }
    const { lastSeq, refusal } = run
    return { runId, seq: lastSeq, ...(refusal === undefined ? {} : { refusal }) }
  })
