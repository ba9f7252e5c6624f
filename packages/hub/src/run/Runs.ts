/**
 * Runs as the Hub mirrors them: what was asked for, and what their logs have come to. Written by `RunLog`, read here.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type {
  AgentId,
  ApprovalId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { type CreateRun, isTerminal } from "@corral/domain/run/Run"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { readableRows } from "../store/ReadableList.ts"
import type { RunSummary } from "./MirroredRun.ts"

/** Where a run belongs: what must be known before anyone's right to it is. Not for the caller's eyes. */
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
}

export class Runs extends Context.Service<
  Runs,
  {
    readonly locate: (id: RunId) => Effect.Effect<RunLocation | undefined, SqlError.SqlError>
    /** A run of the proof's project. */
    readonly get: (
      proof: Proof<"project.read" | "run.cancel" | "task.create">,
      id: RunId
    ) => Effect.Effect<HubRun, PermissionDenied | SqlError.SqlError>
    /** Newest first, those before `before`. That `filter.projectId` may be read has been found before. */
    readonly list: (
      reader: UserId,
      filter: HubRunFilter,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<HubRun>, SqlError.SqlError>
    /** The runs that a project has of a session and whose logs are kept, oldest first; for readers who were found to be such. */
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
        locate: (id) =>
          Effect.map(
            sql<PlaceRow & { readonly offer: string }>`
              SELECT project_id, target_id, offer, state, last_seq FROM runs WHERE id = ${id}`,
            ([row]) =>
              row === undefined
                ? undefined
                : {
                    projectId: row.project_id,
                    targetId: row.target_id,
                    // Written by `RunLog`.
                    ...(JSON.parse(row.offer) as Pick<RunLocation, "agentId" | "workspace">),
                    state: row.state,
                    lastSeq: row.last_seq
                  }
          ),

        get: Effect.fnUntraced(function* ({ subject }, id) {
          const [row] = yield* sql<RunRow>`
            SELECT ${sql.literal(COLUMNS)} FROM runs WHERE id = ${id} AND project_id = ${subject}`
          return row === undefined ? yield* new PermissionDenied() : runOf(row)
        }),

        list: (reader, { projectId, sessionId, state, targetId }, before, limit) =>
          readableRows<RunRow>(sql, {
            table: "runs",
            columns: COLUMNS,
            reader,
            projectId,
            conditions: [
              ...(sessionId === undefined ? [] : [sql`session_id = ${sessionId}`]),
              ...(targetId === undefined ? [] : [sql`target_id = ${targetId}`]),
              ...(state === undefined ? [] : [sql`state = ${state}`])
            ],
            order: "newest",
            after: before,
            limit
          }).pipe(Effect.map((rows) => rows.map(runOf))),

        listIdsOfSession: (projectId, sessionId) =>
          Effect.map(
            sql<{ readonly id: RunId }>`
              SELECT id FROM runs WHERE session_id = ${sessionId} AND project_id = ${projectId} AND kept ORDER BY id`,
            (rows) => rows.map(({ id }) => id)
          )
      })
    })
  )
}

/** Whether nothing more comes of a run in that state. */
export const isFinalState = (state: HubRunStatus): boolean => state !== "queued" && isTerminal(state)

const COLUMNS =
  "id, project_id, session_id, task_id, target_id, made, state, pending, told, last_seq, created_at, updated_at"

interface PlaceRow {
  readonly project_id: ProjectId
  readonly target_id: DeviceId
  readonly state: HubRunStatus
  readonly last_seq: number
}

interface RunRow extends PlaceRow {
  readonly id: RunId
  readonly session_id: SessionId | null
  readonly task_id: TaskId | null
  readonly made: string
  readonly pending: ReadonlyArray<ApprovalId>
  readonly told: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** What an Edge gives a run that asks for no limit of its own: active time in milliseconds. */
const DEFAULT_TIMEOUT_MS = 1_800_000

const runOf = (row: RunRow): HubRun => {
  // Both were written by `RunLog`.
  const { agentId, budget, input, isolation, mode, model, resume, timeoutMs, workspace } = JSON.parse(
    row.made
  ) as CreateRun
  const told = JSON.parse(row.told) as RunSummary
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
    ...(isolation === undefined ? {} : { isolation }),
    ...(budget === undefined ? {} : { budget }),
    lastSeq: row.last_seq,
    pendingApprovals: row.pending,
    ...told,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString()
  }
}
