/**
 * The mirror of runs' logs: what the Edges have pushed, per run with `seq` dense from 1, and the rows that follow from it.
 *
 * Owns the order durable → told. A push is one transaction: its events, the runs and approvals that they move, the tasks behind them and
 * the wake-up of readers on every Hub. What was pushed before is passed over, what would leave a gap is not taken. It promises nothing
 * about who may read.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { Ack, EventBatch } from "@corral/domain/link/EdgeLink"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import {
  type ApprovalId,
  type DeviceId,
  eventIds,
  type ProjectId,
  type RunId,
  type SessionId,
  type TaskId
} from "@corral/domain/identity/Ids"
import type { CreateRun } from "@corral/domain/run/Run"
import type { Batch as Lines } from "@corral/service/http/Frames"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { decodePushedEvent } from "./PushedEvent.ts"
import { MirroredRun, type RunSummary } from "./MirroredRun.ts"
import { hubMetrics } from "../HubMetrics.ts"
import { channels, noticeOf } from "../store/Notice.ts"

/** Events of one run as they are stored, as JSON lines without a final newline. */
export interface LogBatch extends Lines {
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  /** The last event of its run is in here. */
  readonly terminal: boolean
}

/** What a run is before an Edge says anything of it. */
export interface NewRun {
  readonly id: RunId
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly taskId?: TaskId | undefined
  readonly create: CreateRun
}

/** `unknown`: no such run of that target. `gap`: events before these are missing. `broken`: they are no events, or cannot follow. */
export type PushRefusal = "unknown" | "gap" | "broken"

/** What is durable of a run after a push, and why that is not all of it. */
export interface PushResult extends Ack {
  readonly refusal?: PushRefusal
}

export class RunLog extends Context.Service<
  RunLog,
  {
    /** Makes the run known, `queued`: from now on its target may push its events. */
    readonly open: (run: NewRun) => Effect.Effect<void, SqlError.SqlError>
    /**
     * Succeeds when everything that can be taken is durable; readers have been woken by then. One answer a run. `stands` comes first in the
     * same transaction: nothing is taken where it fails.
     */
    readonly append: <E = never>(
      targetId: DeviceId,
      batches: ReadonlyArray<EventBatch>,
      stands?: Effect.Effect<void, E>
    ) => Effect.Effect<ReadonlyArray<PushResult>, E | SqlError.SqlError>
    /** Where each of those runs' logs ends; 0 for what is not known. */
    readonly acks: (
      targetId: DeviceId,
      runIds: ReadonlyArray<RunId>
    ) => Effect.Effect<ReadonlyArray<Ack>, SqlError.SqlError>
    /** Batches after `after`, oldest first, about `budget` characters of them, and one at least where there is any. */
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
      const mirrored = metrics.counter(hubMetrics.events)
      const now = () => new Date(clock.currentTimeMillisUnsafe())

      /** In the order of ids, whatever the order of the push: two pushes never wait for each other. */
      const locked = (targetId: DeviceId, runIds: ReadonlyArray<RunId>) => sql<RunRow>`
        SELECT id, session_id, project_id, task_id, offer, state, started, pending, told, last_seq FROM runs
        WHERE id = ANY(${runIds}::text[]) AND target_id = ${targetId} ORDER BY id FOR NO KEY UPDATE`

      const store = Effect.fnUntraced(function* (pushed: ReadonlyArray<PushedRun>) {
        const rows = pushed.flatMap((run) => run.rows)
        // Readers are told the session too, because some follow all runs of one.
        const wakes = pushed.map(({ row }) =>
          row.session_id === null ? row.id : `${row.id} ${row.session_id}`
        )
        yield* sql`
          WITH added AS (
            INSERT INTO run_events (run_id, first_seq, last_seq, size, terminal, lines)
            SELECT * FROM unnest(
              ${rows.map(({ runId }) => runId)}::text[], ${rows.map(({ firstSeq }) => firstSeq)}::int[],
              ${rows.map(({ lastSeq }) => lastSeq)}::int[], ${rows.map(({ lines }) => lines.length)}::int[],
              ${rows.map(({ terminal }) => terminal)}::bool[], ${rows.map(({ lines }) => lines)}::text[])
          ), moved AS (
            UPDATE runs SET last_seq = m.last_seq, updated_at = ${now()}
            FROM unnest(${pushed.map(({ row }) => row.id)}::text[], ${pushed.map(({ lastSeq }) => lastSeq)}::int[]) AS m (id, last_seq)
            WHERE runs.id = m.id
          )
          SELECT pg_notify(${channels.run}, wake) FROM unnest(${wakes}::text[]) AS wake`
      })

      /** What moved beside the log's length: seldom, compared to events. */
      const move = Effect.fnUntraced(function* ({ fold, row }: PushedRun) {
        const at = now()
        yield* sql`
          UPDATE runs SET state = ${fold.state}, started = ${fold.isStarted}, pending = ${fold.pending}::text[],
            told = ${JSON.stringify(fold.summary)}, ended_at = ${fold.isEnded ? at : null}
          WHERE id = ${row.id} ${fold.state === row.state ? sql`` : sql`RETURNING ${noticeOf(sql, "runState")}`}`
        for (const approval of fold.requestedApprovals.values()) {
          const asked = {
            id: approval.id,
            run_id: row.id,
            project_id: row.project_id,
            target_id: row.target_id,
            state: approval.state,
            approval: JSON.stringify(approval)
          }
          yield* sql`
            INSERT INTO approvals ${sql.insert(asked)} ON CONFLICT DO NOTHING RETURNING ${noticeOf(sql, "approval")}`
        }
        for (const [id, resolved] of fold.resolvedApprovals) {
          const [known] = yield* sql<{ readonly approval: string }>`
            SELECT approval FROM approvals WHERE id = ${id} AND run_id = ${row.id}`
          if (known === undefined) continue
          // Written above, by an earlier push.
          const approval = { ...(JSON.parse(known.approval) as Approval), ...resolved }
          yield* sql`
            UPDATE approvals SET state = ${approval.state}, approval = ${JSON.stringify(approval)} WHERE id = ${id}
            RETURNING ${noticeOf(sql, "approval")}`
        }
        const task = taskStateOf(fold)
        if (row.task_id !== null && task !== undefined) {
          yield* sql`
            UPDATE tasks SET state = ${task}, error = ${fold.summary.error === undefined ? null : JSON.stringify(fold.summary.error)},
              updated_at = ${at}
            WHERE id = ${row.task_id} AND state <> ${task} RETURNING ${noticeOf(sql, "task")}`
        }
      })

      return RunLog.of({
        open: Effect.fnUntraced(function* ({ create, id, projectId, targetId, taskId }) {
          const at = now()
          yield* sql`INSERT INTO runs ${sql.insert({
            id,
            project_id: projectId,
            session_id: create.sessionId ?? null,
            task_id: taskId ?? null,
            target_id: targetId,
            offer: JSON.stringify({ agentId: create.agentId, workspace: create.workspace }),
            made: JSON.stringify(create),
            state: "queued",
            created_at: at,
            updated_at: at
          })} ON CONFLICT DO NOTHING RETURNING ${noticeOf(sql, "runState")}`
          yield* sql`
            INSERT INTO run_requesters (run_id, user_id, input)
            SELECT ${id}, created_by, 'task' FROM tasks WHERE id = ${taskId ?? null}
            UNION SELECT ${id}, user_id, 'earlier' FROM run_requesters WHERE run_id = ${create.resume ?? null}
            ON CONFLICT DO NOTHING`
        }),

        append: <E = never>(
          targetId: DeviceId,
          batches: ReadonlyArray<EventBatch>,
          stands: Effect.Effect<void, E> = Effect.void
        ) => {
          let taken = 0
          const stored = sql.withTransaction(
            Effect.gen(function* () {
              yield* stands
              const runIds = [...new Set(batches.map(({ runId }) => runId))]
              const rows = yield* locked(targetId, runIds)
              const runs = new Map(
                rows.map((row) => [row.id, new PushedRun({ ...row, target_id: targetId })])
              )
              for (const batch of batches) runs.get(batch.runId)?.push(batch)
              const pushed = [...runs.values()].filter((run) => run.rows.length > 0)
              if (pushed.length > 0) yield* store(pushed)
              for (const run of pushed) {
                if (run.fold.hasChanged) yield* move(run)
                taken += run.lastSeq - run.row.last_seq
              }
              return runIds.map((runId): PushResult => {
                const run = runs.get(runId)
                if (run === undefined) return { runId, seq: 0, refusal: "unknown" }
                const { lastSeq, refusal } = run
                return { runId, seq: lastSeq, ...(refusal === undefined ? {} : { refusal }) }
              })
            })
          )
          return Effect.tap(stored, () => Effect.sync(() => mirrored.add(taken)))
        },

        acks: (targetId, runIds) =>
          sql<{ readonly id: RunId; readonly last_seq: number }>`
            SELECT id, last_seq FROM runs WHERE id = ANY(${runIds}::text[]) AND target_id = ${targetId}`.pipe(
            Effect.map((rows) => {
              const known = new Map(rows.map(({ id, last_seq }) => [id, last_seq]))
              return runIds.map((runId) => ({ runId, seq: known.get(runId) ?? 0 }))
            })
          ),

        read: (runId, after, budget) =>
          // By sizes that are known without unpacking the lines: only what is given is read.
          sql<StoredBatch>`
            SELECT first_seq, last_seq, terminal, lines FROM (
              SELECT first_seq, last_seq, terminal, lines, sum(size) OVER (ORDER BY last_seq) - size AS before
              FROM run_events WHERE run_id = ${runId} AND last_seq > ${after} ORDER BY last_seq LIMIT ${PAGE_ROWS}
            ) AS page WHERE before < ${budget} ORDER BY last_seq`.pipe(
            Effect.map((rows) => rows.map((row) => cutBefore(batchOf(runId, row), after)))
          )
      })
    })
  )
}

/** Batches of a page at most: many are small while a run is live. */
const PAGE_ROWS = 1_000
/** Characters of one stored batch, where its events are not larger by themselves. */
const BATCH_TEXT = 65_536

interface RunRow {
  readonly id: RunId
  readonly session_id: SessionId | null
  readonly project_id: ProjectId
  readonly task_id: TaskId | null
  readonly offer: string
  readonly state: HubRunStatus
  readonly started: boolean
  readonly pending: ReadonlyArray<ApprovalId>
  readonly told: string
  readonly last_seq: number
}

interface StoredBatch {
  readonly first_seq: number
  readonly last_seq: number
  readonly terminal: boolean
  readonly lines: string
}

/** One run in the course of a push. */
class PushedRun {
  readonly row: RunRow & { readonly target_id: DeviceId }
  readonly fold: MirroredRun
  readonly rows: Array<LogBatch> = []
  lastSeq: number
  refusal: PushRefusal | undefined
  private readonly idOf: ReturnType<typeof eventIds>

  constructor(row: RunRow & { readonly target_id: DeviceId }) {
    this.row = row
    this.lastSeq = row.last_seq
    this.idOf = eventIds(row.id)
    // Written by `open` and `move`.
    const offer = JSON.parse(row.offer) as Pick<CreateRun, "agentId" | "workspace">
    const summary = JSON.parse(row.told) as RunSummary
    // Without an event the log decides nothing yet, also where the Hub has given up on the start.
    const first = { state: "queued", summary: {} } as const
    this.fold = new MirroredRun({
      ...row,
      isStarted: row.started,
      ...offer,
      ...(row.last_seq === 0 ? first : { summary })
    })
  }

  /** Takes what follows on the log; what it has already is passed over. */
  push({ events, firstSeq }: EventBatch): void {
    if (this.refusal !== undefined) return
    if (firstSeq > this.lastSeq + 1) {
      this.refusal = "gap"
      return
    }
    for (const text of events.slice(this.lastSeq + 1 - firstSeq)) {
      const seq = this.lastSeq + 1
      const event = decodePushedEvent(text, this.row.id, seq, this.idOf(seq))
      if (event === undefined || !this.fold.apply(event)) {
        this.refusal = "broken"
        return
      }
      this.lastSeq = seq
      this.add(seq, text)
    }
  }

  private add(seq: number, text: string): void {
    const last = this.rows.at(-1)
    const fresh = {
      runId: this.row.id,
      firstSeq: seq,
      lastSeq: seq,
      lines: text,
      terminal: this.fold.isEnded
    }
    if (last === undefined || last.lines.length + text.length > BATCH_TEXT) this.rows.push(fresh)
    else
      this.rows[this.rows.length - 1] = { ...fresh, firstSeq: last.firstSeq, lines: `${last.lines}\n${text}` }
  }
}

/** What the events of its run make of a task. */
const taskStateOf = ({ isEnded, isStarted, state }: MirroredRun): string | undefined =>
  isEnded ? state : isStarted ? "running" : undefined

const batchOf = (runId: RunId, { first_seq, last_seq, lines, terminal }: StoredBatch): LogBatch => ({
  runId,
  firstSeq: first_seq,
  lastSeq: last_seq,
  lines,
  terminal
})

const cutBefore = (batch: LogBatch, after: number): LogBatch =>
  batch.firstSeq > after
    ? batch
    : {
        ...batch,
        firstSeq: after + 1,
        lines: batch.lines
          .split("\n")
          .slice(after + 1 - batch.firstSeq)
          .join("\n")
      }
