/**
 * Queries of the change feed. Each statement reads what has changed together with who may see it, so that no reader receives a change by a
 * permission that has ended.
 */
import { ApprovalState } from "@corral/domain/approval/Approval"
import { ChangeSetState } from "@corral/domain/edge-api/ChangeSet"
import { type ChangeHint, MAX_INITIAL_HINTS } from "@corral/domain/hub-api/ChangeHint"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import {
  ApprovalId,
  ChangeSetId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  UserId
} from "@corral/domain/identity/Ids"
import { InputState } from "@corral/domain/input/InputRequest"
import { DeliveryState } from "@corral/domain/session/Message"
import { TaskState } from "@corral/domain/task/Task"
import { Day } from "@corral/domain/usage/Day"
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"
import { deviceIdRows, deviceStateOf, presenceRows } from "../device/DeviceRow.ts"
import { readableRows } from "../store/ListPage.ts"
import { NoticeSubject } from "../usage/UsageLimits.ts"
import { storedRows } from "../store/StoredRows.ts"

/** The `kind` is a literal of the statement; it selects the table. */
const ApprovalChange = {
  kind: Schema.Literal("approval"),
  id: ApprovalId,
  run_id: RunId,
  project_id: ProjectId,
  state: ApprovalState
}
const InputChange = {
  kind: Schema.Literal("input"),
  id: InputRequestId,
  run_id: RunId,
  project_id: ProjectId,
  state: InputState
}
const ChangeSetChange = {
  kind: Schema.Literal("changes"),
  id: ChangeSetId,
  run_id: RunId,
  project_id: ProjectId,
  state: ChangeSetState
}
const TaskChange = { kind: Schema.Literal("task"), id: TaskId, project_id: ProjectId, state: TaskState }
const RunChange = { kind: Schema.Literal("run"), id: RunId, project_id: ProjectId, state: HubRunStatus }

/** The column of a run's id carries the session of a message. */
const MessageChange = {
  kind: Schema.Literal("message"),
  id: MessageId,
  run_id: SessionId,
  project_id: ProjectId,
  state: Schema.NullOr(DeliveryState)
}

const readers = {
  /** Whether every user may read the project. */
  internal: Schema.Boolean,
  members: Schema.Array(UserId)
}

const ChangeRow = Schema.Union([
  Schema.Struct({ ...ApprovalChange, ...readers }),
  Schema.Struct({ ...InputChange, ...readers }),
  Schema.Struct({ ...ChangeSetChange, ...readers }),
  Schema.Struct({ ...MessageChange, ...readers }),
  Schema.Struct({ ...TaskChange, ...readers }),
  Schema.Struct({ ...RunChange, ...readers })
])

const PendingRequestRow = Schema.Union([
  Schema.Struct(ApprovalChange),
  Schema.Struct(InputChange),
  Schema.Struct(ChangeSetChange)
])

/** The columns of a change without its readers. */
type ChangeColumns = typeof ChangeRow.Type | typeof PendingRequestRow.Type

const changeRows = storedRows("approvals, inputs, change_sets, tasks, runs", ChangeRow)
const pendingRequestRows = storedRows("approvals, inputs, change_sets", PendingRequestRow)
const presentRows = storedRows(
  "approvals, inputs, change_sets, device_shares",
  Schema.Union([
    Schema.Struct({ kind: ApprovalChange.kind, id: ApprovalId }),
    Schema.Struct({ kind: InputChange.kind, id: InputRequestId }),
    Schema.Struct({ kind: ChangeSetChange.kind, id: ChangeSetId }),
    Schema.Struct({ kind: Schema.Literal("device"), id: DeviceId })
  ])
)

/** A change, with the readers who may see it. */
export interface AddressedChange {
  readonly to: ReadonlyArray<UserId> | "everyone"
  readonly change: ChangeHint
}

type Changes = Effect.Effect<ReadonlyArray<AddressedChange>, SqlError.SqlError>

/** Where people decide: each table, and its rows that wait for a decision. */
const decided = {
  approval: { table: "approvals", waits: "state = 'pending'" },
  input: { table: "inputs", waits: "state = 'pending'" },
  changes: { table: "change_sets", waits: "waits" }
} as const
export const decidedKinds = ["approval", "input", "changes"] as const

/** What waits for a decision and the user may read: approvals, questions, or change sets. */
export const pendingRequests = (
  sql: SqlClient.SqlClient,
  kind: keyof typeof decided,
  reader: UserId
): Effect.Effect<ReadonlyArray<ChangeHint>, SqlError.SqlError> =>
  Effect.map(
    pendingRequestRows.all(
      readableRows(sql, {
        table: decided[kind].table,
        columns: `'${kind}' AS kind, id, run_id, project_id, state`,
        reader,
        conditions: [sql.literal(decided[kind].waits)],
        order: "newest",
        after: undefined,
        limit: MAX_INITIAL_HINTS
      })
    ),
    (rows) => rows.map(changeOf)
  )

/** Presence of devices. `now` is in Unix milliseconds. */
export const changedDevices = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<string>,
  readers: ReadonlyArray<UserId>,
  now: number
): Changes =>
  Effect.map(
    presenceRows.all(sql`
      SELECT d.id, d.lease_until, d.revoked_at, d.last_seen_at, d.owner_id, ARRAY(
        SELECT m.user_id FROM device_shares s JOIN project_members m ON m.project_id = s.project_id
        WHERE s.device_id = d.id AND m.user_id = ANY(${readers}::text[])
      ) AS members
      FROM devices d WHERE d.id = ANY(${ids}::text[])`),
    (rows) =>
      rows.map((row) => {
        const lastSeenAt = row.last_seen_at?.toISOString()
        const change = { kind: "device", id: row.id, state: deviceStateOf(row, now) } as const
        return {
          to: [row.owner_id, ...row.members],
          change: lastSeenAt === undefined ? change : { ...change, lastSeenAt }
        }
      })
  )

/** States of approvals, questions, change sets, tasks, runs and messages. A message is named with its session. */
export const changedInProjects = (
  sql: SqlClient.SqlClient,
  {
    approvals,
    changes,
    inputs,
    messages,
    runs,
    tasks
  }: Readonly<
    Record<"approvals" | "changes" | "inputs" | "messages" | "runs" | "tasks", ReadonlyArray<string>>
  >,
  readers: ReadonlyArray<UserId>
): Changes =>
  Effect.map(
    changeRows.all(sql`
      SELECT n.*, p.visibility = 'internal' AS internal, ARRAY(
        SELECT m.user_id FROM project_members m
        WHERE m.project_id = n.project_id AND m.user_id = ANY(${readers}::text[])
      ) AS members
      FROM (
        SELECT 'approval' AS kind, id, run_id, project_id, state FROM approvals WHERE id = ANY(${approvals}::text[])
        UNION ALL SELECT 'input', id, run_id, project_id, state FROM inputs WHERE id = ANY(${inputs}::text[])
        UNION ALL SELECT 'changes', id, run_id, project_id, state FROM change_sets WHERE id = ANY(${changes}::text[])
        UNION ALL SELECT 'task', id, run_id, project_id, state FROM tasks WHERE id = ANY(${tasks}::text[])
        UNION ALL SELECT 'run', id, id, project_id, state FROM runs WHERE id = ANY(${runs}::text[])
        UNION ALL SELECT 'message', m.id, m.session_id, s.project_id, m.delivery
          FROM unnest(${messages}::text[]) AS named JOIN messages m
            ON m.session_id = split_part(named, ' ', 1) AND m.id = split_part(named, ' ', 2)
          JOIN sessions s ON s.id = m.session_id
      ) n JOIN projects p ON p.id = n.project_id`),
    (rows) =>
      rows.map((row) => ({ to: row.internal ? ("everyone" as const) : row.members, change: changeOf(row) }))
  )

/** Pending approvals and questions, open change sets and shared devices of projects: new for a user who has become a member. */
export const presentIn = (
  sql: SqlClient.SqlClient,
  projects: ReadonlyArray<string>
): Effect.Effect<
  ReadonlyArray<{ readonly kind: "approval" | "changes" | "device" | "input"; readonly id: string }>,
  SqlError.SqlError
> =>
  presentRows.all(sql`
    (SELECT 'approval' AS kind, id FROM approvals
      WHERE project_id = ANY(${projects}::text[]) AND state = 'pending' ORDER BY id DESC LIMIT ${MAX_INITIAL_HINTS})
    UNION ALL
    (SELECT 'input', id FROM inputs
      WHERE project_id = ANY(${projects}::text[]) AND state = 'pending' ORDER BY id DESC LIMIT ${MAX_INITIAL_HINTS})
    UNION ALL
    (SELECT 'changes', id FROM change_sets
      WHERE project_id = ANY(${projects}::text[]) AND waits ORDER BY id DESC LIMIT ${MAX_INITIAL_HINTS})
    UNION ALL
    (SELECT 'device', device_id FROM device_shares
      WHERE project_id = ANY(${projects}::text[]) ORDER BY device_id DESC LIMIT ${MAX_INITIAL_HINTS})`)

/** Devices of those whose lease has ended. `now` is in Unix milliseconds. */
export const endedLeases = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<string>,
  now: number
): Effect.Effect<ReadonlyArray<DeviceId>, SqlError.SqlError> =>
  Effect.map(
    deviceIdRows.all(sql`
      SELECT id FROM devices WHERE id = ANY(${ids}::text[])
        AND (revoked_at IS NOT NULL OR lease_until IS NULL OR lease_until <= ${new Date(now)})`),
    (rows) => rows.map(({ id }) => id)
  )

const changeOf = (row: ChangeColumns): ChangeHint => {
  const projectId = row.project_id
  switch (row.kind) {
    case "approval":
      return { kind: "approval", id: row.id, runId: row.run_id, projectId, state: row.state }
    case "input":
      return { kind: "input", id: row.id, runId: row.run_id, projectId, state: row.state }
    case "changes":
      return { kind: "changes", id: row.id, runId: row.run_id, projectId, state: row.state }
    case "task":
      return { kind: "task", id: row.id, projectId, state: row.state }
    case "message": {
      const hint = { kind: "message", id: row.id, sessionId: row.run_id, projectId } as const
      return row.state === null ? hint : { ...hint, delivery: row.state }
    }
    case "run":
      return { kind: "run", id: row.id, projectId, state: row.state }
  }
}

const LimitChange = {
  project_id: ProjectId,
  subject: NoticeSubject,
  day: Day,
  state: Schema.Literals(["near", "reached"])
}
const LimitChangeRow = Schema.Struct(LimitChange)
const recentLimitRows = storedRows("limit_notices", LimitChangeRow)
const limitChangeRows = storedRows("limit_notices", Schema.Struct({ ...LimitChange, ...readers }))

const limitHintOf = ({
  day,
  project_id: projectId,
  state,
  subject
}: typeof LimitChangeRow.Type): ChangeHint => ({
  kind: "limit",
  id: `${projectId} ${subject}`,
  projectId,
  ...(subject === "everyone" ? {} : { userId: subject }),
  day,
  state
})

/** Roles that set limits receive the hints of all persons. */
const forReader = (sql: SqlClient.SqlClient, reader: Statement.Fragment) =>
  sql`(n.subject IN ('everyone', ${reader}) OR m.role IN ('admin', 'owner'))`

/** Limits that are nearly or completely used up, each as `<project id> <whose limit> <day>`. */
export const changedLimits = (
  sql: SqlClient.SqlClient,
  ids: ReadonlyArray<string>,
  readers: ReadonlyArray<UserId>
): Changes =>
  Effect.map(
    limitChangeRows.all(sql`
      SELECT n.project_id, n.subject, n.day, n.state, p.visibility = 'internal' AND n.subject = 'everyone' AS internal, ARRAY(
        SELECT m.user_id FROM project_members m
        WHERE m.project_id = n.project_id AND m.user_id = ANY(${readers}::text[]) AND ${forReader(sql, sql`m.user_id`)}
      ) AS members
      FROM unnest(${ids}::text[]) AS named JOIN limit_notices n ON n.project_id = split_part(named, ' ', 1)
        AND n.subject = split_part(named, ' ', 2) AND n.day = split_part(named, ' ', 3)
      JOIN projects p ON p.id = n.project_id`),
    (rows) =>
      rows.map((row) => ({
        to: row.internal ? ("everyone" as const) : row.members,
        change: limitHintOf(row)
      }))
  )

const DAY_MS = 86_400_000

/** Those of the last 24 hours, in projects of the reader. `now` is in Unix milliseconds. */
export const recentLimits = (
  sql: SqlClient.SqlClient,
  reader: UserId,
  now: number
): Effect.Effect<ReadonlyArray<ChangeHint>, SqlError.SqlError> =>
  Effect.map(
    recentLimitRows.all(sql`
      SELECT n.project_id, n.subject, n.day, n.state FROM project_members m JOIN limit_notices n ON n.project_id = m.project_id
      WHERE m.user_id = ${reader} AND n.at > ${new Date(now - DAY_MS)} AND ${forReader(sql, sql`${reader}`)}
      ORDER BY n.at LIMIT ${MAX_INITIAL_HINTS}`),
    (rows) => rows.map(limitHintOf)
  )
