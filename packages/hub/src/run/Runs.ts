/** Runs as the Hub mirrors them: the request and the state that followed. Read only; `RunLog` writes them. */
import type { Proof } from "@corral/domain/access/Authorization"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import type { HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type {
  AgentId,
  DeviceId,
  ProjectId,
  RunId,
  SessionId,
  UserId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { readableRows } from "../store/ReadableList.ts"
import { hubRunOf, RUN_COLUMNS, runIdRows, runLocationRows, runRows } from "./RunRow.ts"

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
  /** Whether runs are listed that another run replaces. */
  readonly replaced?: boolean | undefined
}

export class Runs extends Context.Service<
  Runs,
  {
    readonly locate: (id: RunId) => Effect.Effect<RunLocation | undefined, SqlError.SqlError>
    /** A run of the proof's project. */
    readonly get: (
      proof: Proof<"project.read" | "run.cancel" | "run.finish" | "run.pause" | "run.resume" | "task.create">,
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
          const { projectId, replaced, sessionId, state, targetId } = filter
          const conditions = [
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
