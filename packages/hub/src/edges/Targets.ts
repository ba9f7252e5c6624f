/**
 * Devices as targets of runs: presence, last offer, and who may use them.
 *
 * Does not own devices; `Devices` does.
 */
import type { DeviceId, ProjectId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type DeviceOffer, lastSeenRows, offerRows } from "../device/DeviceRow.ts"
import { PlannedSql } from "../store/Database.ts"
import { storedRows } from "../store/StoredRows.ts"

export interface KnownTarget {
  readonly id: DeviceId
  /** ISO 8601; `undefined` if it was never online. */
  readonly lastSeenAt: string | undefined
}

export interface TargetAccess {
  readonly canRoute: boolean
  /** Any workspace of an own target, or a workspace that is linked to the project. */
  readonly canUseWorkspace: boolean
}

const accessRows = storedRows(
  "devices",
  Schema.Struct({ can_route: Schema.Boolean, can_use_workspace: Schema.Boolean })
)

export class Targets extends Context.Service<
  Targets,
  {
    /** A target that is not revoked. */
    readonly find: (id: DeviceId) => Effect.Effect<KnownTarget | undefined, SqlError.SqlError>
    /** Offer of an online target; `undefined` while it is offline. */
    readonly currentOffer: (id: DeviceId) => Effect.Effect<DeviceOffer | undefined, SqlError.SqlError>
    /** Last offer of an online or offline target; `undefined` where it never sent one or was revoked. */
    readonly lastOffer: (
      id: DeviceId
    ) => Effect.Effect<(DeviceOffer & { readonly isPresent: boolean }) | undefined, SqlError.SqlError>
    /** Whether the user may run tasks of the project there: the user owns the target, or it is shared with the project. */
    readonly canRoute: (
      userId: UserId,
      id: DeviceId,
      projectId: ProjectId
    ) => Effect.Effect<boolean, SqlError.SqlError>
    /** `canRoute`, and whether the user may use a workspace of the target. */
    readonly findAccess: (
      userId: UserId,
      id: DeviceId,
      projectId: ProjectId,
      workspace: WorkspaceId
    ) => Effect.Effect<TargetAccess, SqlError.SqlError>
  }
>()("corral/hub/Targets") {
  static readonly layer = Layer.effect(
    Targets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const planned = yield* PlannedSql
      const clock = yield* Clock.Clock

      const lastOffer = Effect.fn("Targets.lastOffer")(function* (id: DeviceId) {
        const now = new Date(clock.currentTimeMillisUnsafe())
        const row = yield* offerRows.first(sql`
          SELECT workspaces, agents, commands, lease_until > ${now} AS present FROM devices
          WHERE id = ${id} AND revoked_at IS NULL AND version IS NOT NULL`)
        if (row === undefined) return undefined
        const { agents, commands, present, workspaces } = row
        return { isPresent: present === true, workspaces, agents, commands: commands ?? [] }
      })

      return Targets.of({
        find: Effect.fn("Targets.find")(function* (id) {
          const row = yield* lastSeenRows.first(
            sql`SELECT last_seen_at FROM devices WHERE id = ${id} AND revoked_at IS NULL`
          )
          return row && { id, lastSeenAt: row.last_seen_at?.toISOString() }
        }),
        lastOffer,
        currentOffer: Effect.fn("Targets.currentOffer")(function* (id) {
          const last = yield* lastOffer(id)
          return last?.isPresent === true ? last : undefined
        }),
        canRoute: Effect.fn("Targets.canRoute")(function* (userId, id, projectId) {
          const found = yield* planned`
            SELECT 1 FROM devices d WHERE d.id = ${id} AND d.revoked_at IS NULL AND (
              d.owner_id = ${userId}
              OR EXISTS (SELECT 1 FROM device_shares s WHERE s.device_id = d.id AND s.project_id = ${projectId})
            )`
          return found.length > 0
        }),
        findAccess: Effect.fn("Targets.findAccess")(function* (userId, id, projectId, workspace) {
          const row = yield* accessRows.first(planned`
            SELECT
              d.revoked_at IS NULL AND (
                d.owner_id = ${userId}
                OR EXISTS (SELECT 1 FROM device_shares s WHERE s.device_id = d.id AND s.project_id = ${projectId})
              ) AS can_route,
              d.owner_id = ${userId} OR EXISTS (
                SELECT 1 FROM workspace_links l
                WHERE l.project_id = ${projectId} AND l.target_id = d.id AND md5(l.workspace) = md5(${workspace}) AND l.workspace = ${workspace}
              ) AS can_use_workspace
            FROM devices d WHERE d.id = ${id}`)
          return {
            canRoute: row?.can_route === true,
            canUseWorkspace: row?.can_use_workspace === true
          }
        })
      })
    })
  )
}
