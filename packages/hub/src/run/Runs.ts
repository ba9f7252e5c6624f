/**
 * Runs as the Hub mirrors them: the request and the state that followed. Also the codec of the table `runs`. Read only; `RunLog`
 * writes them.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { ChangesOfRun, type HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import {
  AgentId,
  ApprovalId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  type UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Budget } from "@corral/domain/run/Budget"
import { CreateRun, Run } from "@corral/domain/run/Run"
import { liveFieldsOf } from "@corral/domain/run/RunState"
import { VersionedMap } from "@corral/domain/run/VersionedMap"
import { WorkKind } from "@corral/domain/run/Work"
import { Context, Effect, Layer, Schema, Struct } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { readableRows } from "../store/ListPage.ts"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"
import { HighestUse } from "../usage/UsageMetrics.ts"

/** What the run's events say besides its state. */
const Summary = Schema.Struct({
  ...Struct.pick(Run.fields, [
    "runtimeSessionId",
    "model",
    "usage",
    "resultText",
    "error",
    "worktree",
    "confinement",
    "endsWithEdge",
    "protectedChanges",
    "changesUnknown",
    "paused",
    "endedAt"
  ]),
  /** For the metrics, where `usage` has less of something than an earlier report. */
  highestUse: Schema.optionalKey(HighestUse)
})

/** Works in the background by their id. */
const Works = Schema.Array(
  Schema.Tuple([Schema.String, Schema.Struct({ kind: WorkKind, title: Schema.String })])
)

/** Columns that the run's events change. */
const folded = {
  state: HubRunStatus,
  started: Schema.Boolean,
  pending: Schema.Array(ApprovalId),
  told: jsonColumn(Summary),
  pending_inputs: Schema.Array(InputRequestId),
  /** Number of the current or last turn. */
  turn: Schema.Int,
  idle: Schema.Boolean,
  work: Schema.NullOr(jsonColumn(Works))
}

/** Number of works that are commands. */
export const commandsOf = (works: typeof Works.Type): number =>
  works.filter(([, { kind }]) => kind === "command").length

const FoldedColumns = Schema.Struct(folded)
export type FoldedColumns = typeof FoldedColumns.Type

const RunRow = Schema.Struct({
  id: RunId,
  project_id: ProjectId,
  session_id: Schema.NullOr(SessionId),
  task_id: Schema.NullOr(TaskId),
  target_id: DeviceId,
  /** The part of the request by which a run is found and its approvals are described. */
  offer: jsonColumn(Schema.Struct({ agentId: AgentId, workspace: WorkspaceId })),
  /** The whole request. */
  made: jsonColumn(CreateRun),
  /** The part of its budget that limits of the project have given it. */
  reserved: Schema.NullOr(jsonColumn(Budget)),
  ...folded,
  last_seq: Schema.Int,
  /** The message that another run receives instead of this one. */
  replaced_for: Schema.NullOr(MessageId),
  /** That run. */
  replaced_by: Schema.NullOr(RunId),
  /** Of the change set that the run works in. */
  changes: Schema.NullOr(jsonColumn(ChangesOfRun)),
  created_at: Timestamp,
  updated_at: Timestamp
})

const ReadRunRow = RunRow.mapFields(Struct.omit(["offer"]))
const LockedRunRow = RunRow.mapFields(
  Struct.omit(["made", "reserved", "replaced_for", "replaced_by", "changes", "created_at", "updated_at"])
)

/** A run during a push. */
export type LockedRunRow = typeof LockedRunRow.Type

const REPLACED_BY = `CASE WHEN replaced_for IS NOT NULL THEN (
  SELECT m.to_run_id FROM messages m WHERE m.session_id = runs.session_id AND m.id = runs.replaced_for
) END AS replaced_by`

const CHANGES = `(
  SELECT (jsonb_build_object('id', s.id, 'runId', s.run_id, 'state', s.state, 'fileCount', s.file_count)
    || CASE WHEN s.direct THEN '{"direct": true}' ELSE '{}' END::jsonb)::text
  FROM change_set_runs c JOIN change_sets s ON s.id = c.set_id WHERE c.run_id = runs.id
) AS changes`

/** Of the table by its own name. */
const RUN_COLUMNS = Object.keys(ReadRunRow.fields)
  .map((column) => (column === "replaced_by" ? REPLACED_BY : column === "changes" ? CHANGES : column))
  .join(", ")
export const LOCKED_RUN_COLUMNS = Object.keys(LockedRunRow.fields).join(", ")

const runRows = storedRows("runs", ReadRunRow)
export const lockedRunRows = storedRows("runs", LockedRunRow)
const runIdRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id"])))
/** An ended run with its end. */
export const endedRunRows = storedRows("runs", Schema.Struct({ id: RunId, ended_at: Timestamp }))
export const runSeqRows = storedRows("runs", RunRow.mapFields(Struct.pick(["last_seq"])))
export const runAckRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id", "last_seq"])))
/** The request of a run with its reservation. */
export const runRequestRows = storedRows("runs", RunRow.mapFields(Struct.pick(["made", "reserved"])))
export const runProjectRows = storedRows("runs", RunRow.mapFields(Struct.pick(["id", "project_id"])))
const runLocationRows = storedRows(
  "runs",
  RunRow.mapFields(Struct.pick(["project_id", "target_id", "offer", "state", "last_seq"]))
)

/** The request as the Edge receives it: with the budget that the limits of the project have given the run. */
export const reservedRequest = (request: CreateRun, reserved: Budget | null | undefined): CreateRun =>
  reserved == null ? request : { ...request, budget: { ...request.budget, ...reserved } }

/** Active time in milliseconds of a run without an explicit limit. */
const DEFAULT_TIMEOUT_MS = 1_800_000

const hubRunOf = (row: typeof ReadRunRow.Type): HubRun => {
  const { agentId, backgroundMs, budget, groupId, input, inputTtlMs, isolation } = reservedRequest(
    row.made,
    row.reserved
  )
  const { mode, model, resume, timeoutMs, workspace } = row.made
  const { highestUse: _, ...summary } = row.told
  return {
    id: row.id,
    projectId: row.project_id,
    targetId: row.target_id,
    ...(row.task_id === null ? {} : { taskId: row.task_id }),
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    workspace,
    agentId,
    mode,
    state: row.state,
    input,
    ...(model === undefined ? {} : { model }),
    ...(resume === undefined ? {} : { resume }),
    timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS,
    ...(backgroundMs === undefined ? {} : { backgroundMs }),
    ...(inputTtlMs === undefined ? {} : { inputTtlMs }),
    ...(isolation === undefined ? {} : { isolation }),
    ...(groupId === undefined ? {} : { groupId }),
    ...(budget === undefined ? {} : { budget }),
    lastSeq: row.last_seq,
    ...(row.replaced_for === null ? {} : { replaced: true }),
    ...(row.replaced_by === null ? {} : { replacedBy: row.replaced_by }),
    ...(row.changes === null ? {} : { changes: row.changes }),
    pendingApprovals: row.pending,
    ...summary,
    ...liveFieldsOf({
      status: row.state === "queued" ? undefined : row.state,
      started: row.started,
      isIdle: row.idle,
      outstanding: VersionedMap.of(row.work ?? []),
      commands: commandsOf(row.work ?? []),
      pendingInputs: { keys: () => row.pending_inputs }
    }),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}

/** Where a run belongs. Needed to check the caller's rights, so it must not reach the caller before that check. */
export interface RunLocation {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly agentId: AgentId
  readonly workspace: WorkspaceId
  readonly state: HubRunStatus
  readonly lastSeq: number
}

export interface HubRunFilter {
  readonly projectId?: ProjectId | undefined
  readonly sessionId?: SessionId | undefined
  readonly targetId?: DeviceId | undefined
  readonly state?: HubRunStatus | undefined
  readonly ids?: ReadonlyArray<RunId> | undefined
  /** Whether runs are listed that another run replaces. */
  readonly replaced?: boolean | undefined
}

export class Runs extends Context.Service<
  Runs,
  {
    readonly locate: (id: RunId) => Effect.Effect<RunLocation | undefined, SqlError.SqlError>
    /** A run of the proof's project. */
    readonly get: (
      proof: Proof<
        | "project.read"
        | "run.cancel"
        | "run.finish"
        | "run.pause"
        | "run.resume"
        | "session.write"
        | "task.create"
      >,
      id: RunId
    ) => Effect.Effect<HubRun, PermissionDenied | SqlError.SqlError>
    /** Runs before `before`, newest first. The caller has checked that the reader may read `filter.projectId`. */
    readonly list: (
      reader: UserId,
      filter: HubRunFilter,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HubRun>, SqlError.SqlError>
    /** Runs of a session in one project whose logs still exist, oldest first. The caller has checked the reader's rights. */
    readonly listIdsOfSession: (
      projectId: ProjectId,
      sessionId: SessionId
    ) => Effect.Effect<ReadonlyArray<RunId>, SqlError.SqlError>
  }
>()("corral/hub/Runs") {
  static readonly layer = Layer.effect(
    Runs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      return Runs.of({
        locate: Effect.fnUntraced(function* (id) {
          const row = yield* runLocationRows.first(
            sql`SELECT project_id, target_id, offer, state, last_seq FROM runs WHERE id = ${id}`
          )
          if (row === undefined) return undefined
          const { last_seq: lastSeq, offer, project_id: projectId, state, target_id: targetId } = row
          return { projectId, targetId, ...offer, state, lastSeq }
        }),

        get: Effect.fnUntraced(function* ({ subject }, id) {
          const row = yield* runRows.first(
            sql`SELECT ${sql.literal(RUN_COLUMNS)} FROM runs WHERE id = ${id} AND project_id = ${subject}`
          )
          return row === undefined ? yield* new PermissionDenied() : hubRunOf(row)
        }),

        list: Effect.fnUntraced(function* (reader, filter, before, limit) {
          const { ids, projectId, replaced, sessionId, state, targetId } = filter
          const conditions = [
            ...(ids === undefined ? [] : [sql`id = ANY(${ids}::text[])`]),
            ...(replaced === true ? [] : [sql`replaced_for IS NULL`]),
            ...(sessionId === undefined ? [] : [sql`session_id = ${sessionId}`]),
            ...(targetId === undefined ? [] : [sql`target_id = ${targetId}`]),
            ...(state === undefined ? [] : [sql`state = ${state}`])
          ]
          const page = { reader, projectId, conditions, order: "newest", after: before, limit } as const
          const rows = yield* runRows.all(readableRows(sql, { table: "runs", columns: RUN_COLUMNS, ...page }))
          return rows.map(hubRunOf)
        }),

        listIdsOfSession: Effect.fnUntraced(function* (projectId, sessionId) {
          const rows = yield* runIdRows.all(sql`
            SELECT id FROM runs WHERE session_id = ${sessionId} AND project_id = ${projectId} AND kept ORDER BY id`)
          return rows.map(({ id }) => id)
        })
      })
    })
  )
}
