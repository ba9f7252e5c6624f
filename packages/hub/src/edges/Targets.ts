/**
 * What running needs to know of devices: whether a target is known, since when it is gone, and who may have something run there.
 *
 * The devices themselves are another service's.
 */
import type { Target } from "@corral/domain/device/Device"
import type { DeviceId, ProjectId, UserId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"

export interface KnownTarget {
  readonly id: DeviceId
  /** ISO 8601; `undefined` where it was never there. */
  readonly lastSeenAt: string | undefined
}

export interface TargetOffer extends Pick<Target, "workspaces" | "agents"> {
  /** Commands that it has said it takes. Those that every Edge takes need not be among them. */
  readonly commands: ReadonlyArray<string>
}

export class Targets extends Context.Service<
  Targets,
  {
    /** A target that is not revoked. */
    readonly find: (id: DeviceId) => Effect.Effect<KnownTarget | undefined, SqlError.SqlError>
    /** What a target that is there has told that it offers; `undefined` where it is not there. */
    readonly currentOffer: (id: DeviceId) => Effect.Effect<TargetOffer | undefined, SqlError.SqlError>
    /** What a target reported last, there or not; `undefined` where it never did, or was revoked. */
    readonly lastOffer: (
      id: DeviceId
    ) => Effect.Effect<(TargetOffer & { readonly isPresent: boolean }) | undefined, SqlError.SqlError>
    /** Whether the person may have work of that project done there: it is theirs, or shared with the project. */
    readonly canRoute: (
      userId: UserId,
      id: DeviceId,
      projectId: ProjectId
    ) => Effect.Effect<boolean, SqlError.SqlError>
    /** Whether it may be done in that workspace: any of a target of theirs, and of another one what is linked to the project. */
    readonly canUseWorkspace: (
      userId: UserId,
      id: DeviceId,
      projectId: ProjectId,
      workspace: WorkspaceId
    ) => Effect.Effect<boolean, SqlError.SqlError>
  }
>()("corral/hub/Targets") {
  static readonly layer = Layer.effect(
    Targets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const lastOffer = Effect.fnUntraced(function* (id: DeviceId) {
        const now = new Date(clock.currentTimeMillisUnsafe())
        const [row] = yield* sql<OfferRow>`
          SELECT workspaces, agents, commands, lease_until > ${now} AS present FROM devices
          WHERE id = ${id} AND revoked_at IS NULL AND version IS NOT NULL`
        // Checked when it was told.
        return (
          row && {
            isPresent: row.present === true,
            workspaces: JSON.parse(row.workspaces) as Target["workspaces"],
            agents: JSON.parse(row.agents) as Target["agents"],
            commands: JSON.parse(row.commands ?? "[]") as ReadonlyArray<string>
          }
        )
      })

      return Targets.of({
        find: Effect.fnUntraced(function* (id) {
          const [row] = yield* sql<{ readonly last_seen_at: Date | null }>`
            SELECT last_seen_at FROM devices WHERE id = ${id} AND revoked_at IS NULL`
          return row && { id, lastSeenAt: row.last_seen_at?.toISOString() }
        }),
        lastOffer,
        currentOffer: (id) =>
          Effect.map(lastOffer(id), (last) => (last?.isPresent === true ? last : undefined)),
        canRoute: Effect.fnUntraced(function* (userId, id, projectId) {
          const found = yield* sql`
            SELECT 1 FROM devices d WHERE d.id = ${id} AND d.revoked_at IS NULL AND (
              d.owner_id = ${userId}
              OR EXISTS (SELECT 1 FROM device_shares s WHERE s.device_id = d.id AND s.project_id = ${projectId})
            )`
          return found.length > 0
        }),
        canUseWorkspace: Effect.fnUntraced(function* (userId, id, projectId, workspace) {
          const found = yield* sql`
            SELECT 1 FROM devices d WHERE d.id = ${id} AND (
              d.owner_id = ${userId}
              OR EXISTS (
                SELECT 1 FROM workspace_links l
                WHERE l.project_id = ${projectId} AND l.target_id = d.id AND md5(l.workspace) = md5(${workspace}) AND l.workspace = ${workspace}
              )
            )`
          return found.length > 0
        })
      })
    })
  )
}

interface OfferRow {
  readonly workspaces: string
  readonly agents: string
  readonly commands: string | null
  readonly present: boolean | null
}
