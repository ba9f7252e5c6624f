/**
 * Mirror of the runs' logs: the events that Edges have pushed, per run with `seq` dense from 1, and the rows that follow from them.
 *
 * Guarantees: readers are woken only after the events are durable. A push is part of one transaction: its events, the runs, approvals and tasks that
 * they change, and the messages of their sessions. Notices to readers on every Hub follow the commit. Events that the log already has are skipped; events after a gap are refused.
 * Does not check who may read.
 */
import type { DeviceId, ProjectId, RunId, TaskId } from "@corral/domain/identity/Ids"
import type { Ack, EventBatch } from "@corral/domain/link/EdgeLink"
import type { CreateRun } from "@corral/domain/run/Run"
import type { LogBatch } from "@corral/service/stream/LogSource"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer, Result, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { hubMetrics } from "../HubMetrics.ts"
import { announced } from "../store/Notices.ts"
import { PlannedSql } from "../store/Database.ts"
import { storedRows } from "../store/StoredRows.ts"
import { amountOf } from "../usage/LimitRow.ts"
import type { Reservation } from "../usage/Reservations.ts"
import { usageCounter } from "../usage/UsageMetrics.ts"
import {
  type Admission,
  type LinkPush,
  type LogGrowth,
  type PushResult,
  type TargetPush,
  RunPushes
} from "./RunPushes.ts"
import { runAckRows } from "./Runs.ts"

const LogBatchRow = Schema.Struct({
  first_seq: Schema.Int,
  last_seq: Schema.Int,
  terminal: Schema.Boolean,
  /** One event per line. Clients decode the events. */
  lines: Schema.String
})

const logBatchRows = storedRows("run_events", LogBatchRow)

/** The events of a stored batch after `after`. */
const batchAfter = (runId: RunId, row: typeof LogBatchRow.Type, after: number): LogBatch => {
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

/** A run before its Edge has pushed events. */
export interface NewRun {
  readonly id: RunId
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly taskId?: TaskId | undefined
  readonly create: CreateRun
  /** The day that the run counts for, and what it has reserved under limits. Without one, the run counts for its day in UTC. */
  readonly reservation?: Reservation | undefined
}

export class RunLog extends Context.Service<
  RunLog,
  {
    /** Adds the run as `queued`. From now on its target may push its events. */
    readonly open: (run: NewRun) => Effect.Effect<void, SqlError.SqlError>
    /** Succeeds when every accepted event is durable and its readers are woken. Returns one result per run. */
    readonly append: (
      targetId: DeviceId,
      batches: ReadonlyArray<EventBatch>
    ) => Effect.Effect<ReadonlyArray<PushResult>, SqlError.SqlError>
    /**
     * `append` for pushes of several targets: in one statement where the rows of the runs are known, otherwise in one transaction. A push over a
     * link that is not the newest of its device is not admitted.
     */
    readonly appendAll: <P extends LinkPush, E>(
      pushes: ReadonlyArray<P>,
      admission: Admission<P, E>
    ) => Effect.Effect<ReadonlyArray<Result.Result<ReadonlyArray<PushResult>, E>>, SqlError.SqlError>
    /** Passes what this Hub has appended to a listener, after the commit. The listener must not block and must not throw. */
    readonly onGrown: (listener: (growth: LogGrowth) => void) => void
    /** Passes the targets of tasks that pushes have added to a listener, after the commit. The listener must not block and must not throw. */
    readonly onTask: (listener: (targetId: DeviceId) => void) => void
    /** The last `seq` of each run's log; 0 for unknown runs. */
    readonly acks: (
      targetId: DeviceId,
      runIds: ReadonlyArray<RunId>
    ) => Effect.Effect<ReadonlyArray<Ack>, SqlError.SqlError>
    /** Batches after `after`, oldest first: about `budget` characters, and at least one batch where there is one. */
    readonly read: (
      runId: RunId,
      after: number,
      budget: number
    ) => Effect.Effect<ReadonlyArray<LogBatch>, SqlError.SqlError>
  }
>()("corral/hub/RunLog") {
  static readonly layer = Layer.effect(
    RunLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const metrics = yield* CurrentMetrics
      const mirroredEvents = metrics.counter(hubMetrics.events)
      const now = () => new Date(clock.currentTimeMillisUnsafe())
      const pushes = new RunPushes(sql, yield* PlannedSql, now, {
        events: (events) => mirroredEvents.add(events),
        usage: usageCounter(metrics)
      })

      return RunLog.of({
        open: (run) => openRun(sql, run, now()),

        // Untraced, like `read`: runs for every push.
        append: (targetId, batches) =>
          Effect.map(
            pushes.appendLocked<TargetPush, never>([{ targetId, batches }], () =>
              Effect.succeed(new Map<TargetPush, never>())
            ),
            ([result]) => (result === undefined ? [] : Result.getOrThrow(result))
          ),
        appendAll: (all, admission) => pushes.appendAll(all, admission),
        onGrown: (listener) => pushes.onGrown(listener),
        onTask: (listener) => pushes.onTask(listener),

        acks: Effect.fn("RunLog.acks")(function* (targetId, runIds) {
          const rows = yield* runAckRows.all(
            sql`SELECT id, last_seq FROM runs WHERE id = ANY(${runIds}::text[]) AND target_id = ${targetId}`
          )
          const seqs = new Map(rows.map(({ id, last_seq }) => [id, last_seq]))
          return runIds.map((runId) => ({ runId, seq: seqs.get(runId) ?? 0 }))
        }),

        read: (runId, after, budget) =>
          Effect.map(
            // By stored sizes, so that only the lines that are returned are decompressed.
            logBatchRows.all(sql`
              SELECT first_seq, last_seq, terminal, lines FROM (
                SELECT first_seq, last_seq, terminal, lines, sum(size) OVER (ORDER BY last_seq) - size AS before
                FROM run_events WHERE run_id = ${runId} AND last_seq > ${after} ORDER BY last_seq LIMIT ${PAGE_ROWS}
              ) AS page WHERE before < ${budget} ORDER BY last_seq`),
            (rows) => rows.map((row) => batchAfter(runId, row, after))
          )
      })
    })
  )
}

/** Batches per page. A live run has many small ones. */
const PAGE_ROWS = 1_000

/** The author of the task becomes a requester of the run, with the authors of its messages and the requesters of the run that it resumes. */
const openRun = Effect.fn("RunLog.open")(function* (
  sql: SqlClient.SqlClient,
  { create, id, projectId, reservation, targetId, taskId }: NewRun,
  at: Date
) {
  const row = {
    id,
    project_id: projectId,
    session_id: create.sessionId ?? null,
    task_id: taskId ?? null,
    target_id: targetId,
    offer: JSON.stringify({ agentId: create.agentId, workspace: create.workspace }),
    made: JSON.stringify(create),
    reserved: reservation?.budget === undefined ? null : JSON.stringify(reservation.budget),
    state: "queued",
    created_at: at,
    updated_at: at
  }
  const added = yield* announced(
    sql,
    "runState",
    sql`INSERT INTO runs ${sql.insert(row)} ON CONFLICT DO NOTHING RETURNING id`
  )
  const isReserved = added.length > 0 && reservation !== undefined
  const { costUsd = 0, tokens = 0 } = reservation?.budget ?? {}
  const resumed = create.resume ?? null
  // A run that resumes another one continues in its layer or worktree. Its requesters count before its Edge reports that.
  yield* sql`
    WITH reserved AS (
      UPDATE run_usage SET day = ${reservation?.day ?? null}, model = ${create.model ?? null},
        reserved_micros = ${amountOf("costUsd", costUsd)}::bigint, reserved_tokens = ${amountOf("tokens", tokens)}::bigint
      WHERE run_id = ${isReserved ? id : null}
    ), continued AS (
      INSERT INTO change_set_runs (run_id, set_id)
      SELECT ${id}, s.id FROM change_set_runs r JOIN change_sets s ON s.id = r.set_id
      WHERE r.run_id = ${resumed} AND s.project_id = ${projectId} AND NOT s.direct
      ON CONFLICT DO NOTHING
    )
    INSERT INTO run_requesters (run_id, user_id, input)
    SELECT ${id}, created_by, 'task' FROM tasks WHERE id = ${taskId ?? null}
    UNION SELECT ${id}, unnest(requesters), 'message' FROM tasks WHERE id = ${taskId ?? null}
    UNION SELECT ${id}, user_id, 'earlier' FROM run_requesters WHERE run_id = ${resumed}
    ON CONFLICT DO NOTHING`
})
