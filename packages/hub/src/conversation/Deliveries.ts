/**
 * Delivery of pending messages to their agents. Woken by new and changed messages and by changes of tasks and runs, on every Hub, and
 * by a slow sweep. Also messages that did not reach a run: their task ended, or they expired before their turn. A message of an ended
 * task may be delivered again.
 *
 * Guarantees: a message is pending until the log of a run contains it, until it fails, or until it is withdrawn, whichever Hubs stop
 * meanwhile. Messages of one agent are delivered in their order.
 */
import { AgentInstanceId, MessageId, SessionId, TaskId } from "@corral/domain/identity/Ids"
import { RunFailure } from "@corral/domain/run/Run"
import { DeliveryContext } from "@corral/domain/session/Message"
import { Coalesced } from "@corral/service/Coalesced"
import { Clock, Context, Effect, Layer, Schedule, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { Targets } from "../edges/Targets.ts"
import { changeMessage, holdMessages } from "../session/MessageStore.ts"
import { PlannedSql } from "../store/Database.ts"
import { limitTo } from "../store/ListPage.ts"
import { type NoticeKind, Notices } from "../store/Notices.ts"
import { lostStates, lostTaskStates, openTaskStates } from "../store/StateLists.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { limitLockWait, sweepRows } from "../store/Sweep.ts"
import { Dispatcher } from "../task/Dispatcher.ts"
import { Tasks } from "../task/Tasks.ts"
import { feedIdleRuns, type InputServices, sendInputs } from "./LiveInputs.ts"
import { deliverNextTurn, type DueAgent } from "./NextTurn.ts"

const EndedTask = Schema.Struct({
  session_id: SessionId,
  id: MessageId,
  task_id: TaskId,
  recipient: Schema.NullOr(AgentInstanceId),
  context: Schema.NullOr(DeliveryContext),
  state: Schema.Literals(lostStates),
  error: Schema.NullOr(jsonColumn(RunFailure)),
  ended_at: Timestamp
})
type EndedTask = typeof EndedTask.Type

const endedRows = storedRows("messages, tasks", EndedTask)

const EXPIRED: RunFailure = {
  code: "target_offline",
  message: "The message expired before a run received it."
}
const UNKNOWN: RunFailure = { code: "internal", message: "The message could not be delivered." }

/** Messages per page. */
const MESSAGES_PER_PAGE = 200

/** Settles all such messages. */
const settleEndedTasks = Effect.fn("Deliveries.settleEndedTasks")(function* (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  yield* sweepRows({
    page: (after) =>
      endedRows.all(sql`
        SELECT m.session_id, m.id, m.task_id, m.recipient, m.context, t.state, t.error, t.updated_at AS ended_at
        FROM messages m JOIN tasks t ON t.id = m.task_id
        WHERE m.delivery = 'pending' AND m.id > ${after} AND t.state IN ${lostTaskStates(sql)}
        ORDER BY m.id ${limitTo(sql, MESSAGES_PER_PAGE)}`),
    keyOf: ({ id }) => id,
    visit: (row, patienceMs) =>
      limitLockWait(sql, patienceMs).pipe(
        Effect.andThen(settle(sql, row, now)),
        sql.withTransaction,
        Effect.as(true)
      ),
    failure: "failed to settle the message of an ended task"
  })
})

const settle = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { context, ended_at: endedAt, error, id, recipient, session_id, state, task_id }: EndedTask,
  now: Date
) {
  const isStill = sql`delivery = 'pending' AND task_id = ${task_id}`
  if (state === "cancelled")
    return yield* changeMessage(sql, session_id, id, sql`delivery = 'withdrawn'`, isStill)
  // The Edge no longer has the run to resume: the message starts a new run.
  if (state === "failed" && context === "resumed" && error?.code === "schema_validation_failed") {
    const again = sql`context = 'transcript', task_id = NULL, attempt = attempt + 1`
    return yield* changeMessage(sql, session_id, id, again, isStill)
  }
  yield* sql`
    SELECT 1 FROM projects WHERE id = (SELECT project_id FROM sessions WHERE id = ${session_id}) FOR KEY SHARE`
  const reported = state === "expired" ? EXPIRED : (error ?? UNKNOWN)
  const failure = JSON.stringify(reported)
  const failed = yield* changeMessage(
    sql,
    session_id,
    id,
    sql`delivery = 'failed', error = ${failure}`,
    isStill
  )
  if (failed !== undefined && recipient !== null)
    yield* holdMessages(
      sql,
      session_id,
      recipient,
      { reason: "failed", code: reported.code, since: now.toISOString() },
      endedAt
    )
  return failed
})

const expiredRows = storedRows("messages", Schema.Struct({ session_id: SessionId, id: MessageId }))

/** Fails the messages that have expired before their turn. */
const failExpired = Effect.fn("Deliveries.failExpired")(function* (
  sql: SqlClient.SqlClient,
  now: Date
): Effect.fn.Return<void, SqlError.SqlError> {
  const error = JSON.stringify(EXPIRED)
  const failed = sql`delivery = 'failed', error = ${error}`
  const isStill = sql`delivery = 'pending' AND task_id IS NULL`
  yield* sweepRows({
    page: (after) =>
      expiredRows.all(sql`
        SELECT session_id, id FROM messages
        WHERE delivery = 'pending' AND id > ${after} AND task_id IS NULL AND send_when = 'next' AND expires_at <= ${now}
        ORDER BY id ${limitTo(sql, MESSAGES_PER_PAGE)}`),
    keyOf: ({ id }) => id,
    visit: ({ id, session_id }, patienceMs) =>
      limitLockWait(sql, patienceMs).pipe(
        Effect.andThen(changeMessage(sql, session_id, id, failed, isStill)),
        sql.withTransaction,
        Effect.as(true)
      ),
    failure: "failed to expire a message"
  })
})

/** Kinds of notices after which a message may be due, or must fail. */
const waking: ReadonlySet<NoticeKind> = new Set(["message", "task", "deviceEnded", "runState"])

export class Deliveries extends Context.Service<
  Deliveries,
  {
    /** Looks for due messages. Returns without waiting for it. */
    readonly wake: Effect.Effect<void>
  }
>()("corral/hub/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const dispatcher = yield* Dispatcher
      const notices = yield* Notices
      const planned = yield* PlannedSql
      const services: InputServices = {
        sql: yield* SqlClient.SqlClient,
        audit: yield* Audit,
        targets: yield* Targets,
        tasks: yield* Tasks,
        router: yield* EdgeRouter,
        scope: yield* Effect.scope,
        sending: new Set(),
        now: () => new Date(clock.currentTimeMillisUnsafe())
      }
      // One pass at a time; wake-ups during a pass cause one more.
      const passes = yield* Coalesced.make
      const { wake } = passes
      notices.follow({ onNotice: (kind) => waking.has(kind) && wake(), onMissed: wake })
      yield* passes.run(deliverDue(services, planned, dispatcher), (cause) =>
        Effect.logError("failed to deliver messages", cause)
      )
      yield* Effect.sync(wake).pipe(Effect.repeat(Schedule.spaced("15 seconds")), Effect.forkScoped)
      return Deliveries.of({ wake: Effect.sync(wake) })
    })
  )
}

const deliverDue = Effect.fn("Deliveries.deliverDue")(function* (
  services: InputServices,
  planned: PlannedSql["Service"],
  dispatcher: Dispatcher["Service"]
) {
  const { now, sql } = services
  const work = yield* findDueWork(planned, now())
  if (work.ended) yield* settleEndedTasks(sql, now())
  if (work.expired) yield* failExpired(sql, now())
  const hasInput = work.turns && (yield* feedIdleRuns(services))
  if (work.inputs || hasInput) yield* sendInputs(services)
  // A settled message may be due again. An agent whose message was delivered may have another one.
  let mayBeDue = work.turns || work.ended
  while (mayBeDue) mayBeDue = yield* deliverTurns(services, planned, dispatcher)
})

/** Agents per page. */
const AGENTS_PER_PAGE = 100

const DueRow = Schema.Struct({
  session_id: SessionId,
  recipient: AgentInstanceId,
  /** Its first due message. */
  first: MessageId
})

const dueRows = storedRows("messages", DueRow)

/**
 * Agents with a message, and without a task that can end, the longest waiting first, also removed ones. `deliverNextTurn` checks again under a lock.
 */
const findDueAgents = (sql: SqlClient.SqlClient, now: Date, after: string) =>
  dueRows.all(sql`
    SELECT m.session_id, m.recipient, min(m.id) AS first FROM messages m
    LEFT JOIN session_agents a ON a.session_id = m.session_id AND a.id = m.recipient
    WHERE m.delivery = 'pending' AND m.send_when = 'next' AND m.task_id IS NULL AND NOT m.held
      AND (m.expires_at IS NULL OR m.expires_at > ${now})
      AND (
        NOT EXISTS (
          SELECT 1 FROM tasks t WHERE t.state IN ${openTaskStates(sql)}
            AND (t.agent_instance_id = a.id OR (t.place = a.place AND coalesce(a.isolation, 'none') = 'none'))
        )
        OR EXISTS (SELECT 1 FROM devices d WHERE d.id = a.target_id AND d.revoked_at IS NOT NULL)
      )
    GROUP BY m.session_id, m.recipient HAVING min(m.id) > ${after} ORDER BY min(m.id) ${limitTo(sql, AGENTS_PER_PAGE)}`)

/** One turn for each due agent. Returns whether there was one. */
const deliverTurns = (
  services: InputServices,
  planned: PlannedSql["Service"],
  dispatcher: Dispatcher["Service"]
) =>
  sweepRows({
    page: (after) => findDueAgents(planned, services.now(), after),
    keyOf: ({ first }) => first,
    visit: ({ recipient, session_id }, patienceMs) =>
      deliverTurn(services, dispatcher, { sessionId: session_id, agentId: recipient }, patienceMs),
    failure: "failed to deliver message"
  })

const deliverTurn = Effect.fnUntraced(function* (
  services: InputServices,
  dispatcher: Dispatcher["Service"],
  due: DueAgent,
  patienceMs: number
) {
  const result = yield* deliverNextTurn(services, due, patienceMs)
  if (result._tag === "Idle") return false
  // After the commit: a target that came online meanwhile has looked for tasks before this one was visible. A dispatch to an offline
  // target would only return the task, and hold up an edit meanwhile.
  if (
    result._tag === "Started" &&
    !result.hasRun &&
    (yield* services.targets.currentOffer(result.targetId)) !== undefined
  )
    yield* dispatcher.wake(result.targetId)
  return true
})

/** What a pass of deliveries finds due, in one statement: most passes find nothing, and a task wakes several of them. */
const DueWork = Schema.Struct({
  /** Pending messages whose tasks have ended without a run. */
  ended: Schema.Boolean,
  /** Messages that have expired before their turn. */
  expired: Schema.Boolean,
  /** Further input to runs in progress. */
  inputs: Schema.Boolean,
  /** Messages without a task. Their agents may be busy. */
  turns: Schema.Boolean
})
type DueWork = typeof DueWork.Type

const dueWorkRows = storedRows("messages, tasks", DueWork)

const nothing: DueWork = { ended: false, expired: false, inputs: false, turns: false }

const findDueWork = (sql: SqlClient.SqlClient, now: Date): Effect.Effect<DueWork, SqlError.SqlError> =>
  Effect.map(
    dueWorkRows.first(sql`
      SELECT coalesce(bool_or(t.id IS NOT NULL), false) AS ended,
        coalesce(bool_or(m.task_id IS NULL AND m.send_when = 'next' AND m.expires_at <= ${now}), false) AS expired,
        coalesce(bool_or(m.send_when = 'now' AND m.to_run_id IS NOT NULL), false) AS inputs,
        coalesce(bool_or(m.task_id IS NULL AND m.send_when = 'next' AND NOT m.held), false) AS turns
      FROM messages m LEFT JOIN tasks t ON t.id = m.task_id AND t.state IN ${lostTaskStates(sql)}
      WHERE m.delivery = 'pending'`),
    (row) => row ?? nothing
  )
