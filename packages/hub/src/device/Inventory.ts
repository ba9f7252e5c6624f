/**
 * Inventory of targets: the workspaces and agents of each target's last offer, for users who may route to it.
 *
 * Does not guarantee that an offer is still valid; the Edge checks it again when a run starts.
 */
import type { AgentProfile } from "@corral/domain/run/AgentProfile"
import type { Proof } from "@corral/domain/access/Authorization"
import type { DeviceState, Target } from "@corral/domain/device/Device"
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { routableDeviceConditions } from "../authority/HubAuthority.ts"
import { limitTo } from "../store/ListPage.ts"
import { TARGET_COLUMNS, type TargetRow, deviceStateOf, targetRows } from "./DeviceRow.ts"

export class Inventory extends Context.Service<
  Inventory,
  {
    /** Targets before `before`, newest first. With a project, only the targets shared with it. */
    readonly targets: (
      reader: UserId,
      projectId: ProjectId | undefined,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Target>, SqlError.SqlError>
    /** Agents after `after`, by id: each agent once, with the targets that offer it. The most recently seen target describes it. */
    readonly agents: (
      reader: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AgentProfile>, SqlError.SqlError>
    /** Offer of one target; empty if it was removed. The target can't be removed until the caller's transaction ends. */
    readonly offerOf: (
      proof: Proof<"task.route">
    ) => Effect.Effect<Pick<Target, "workspaces" | "agents">, SqlError.SqlError>
  }
>()("corral/hub/Inventory") {
  static readonly layer = Layer.effect(
    Inventory,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()
      const columns = sql.literal(TARGET_COLUMNS)

      return Inventory.of({
        targets: Effect.fnUntraced(function* (reader, projectId, before, limit) {
          const { owned, shared } = routableDeviceConditions(sql, reader)
          const ofProject = sql`AND id IN (SELECT device_id FROM device_shares WHERE project_id = ${projectId ?? ""})`
          const page = sql`
            AND revoked_at IS NULL ${projectId === undefined ? sql`` : ofProject}
            ${before === undefined ? sql`` : sql`AND id < ${before}`} ORDER BY id DESC ${limitTo(sql, limit)}`
          // Two scans, each in the order of an index.
          const rows = yield* targetRows.all(sql`
            SELECT * FROM (
              (SELECT ${columns} FROM devices WHERE ${owned} ${page})
              UNION ALL
              (SELECT ${columns} FROM devices WHERE ${shared} ${page})
            ) routable ORDER BY id DESC ${limitTo(sql, limit)}`)
          return rows.map((row) => targetOf(row, deviceStateOf(row, now())))
        }),

        agents: Effect.fnUntraced(function* (reader, after, limit) {
          const { owned, shared } = routableDeviceConditions(sql, reader)
          const rows = yield* targetRows.all(sql`
            SELECT ${columns} FROM devices WHERE revoked_at IS NULL AND (${owned} OR (${shared}))
            ORDER BY last_seen_at DESC NULLS LAST, id DESC`)
          const targets = rows.map((row) => targetOf(row, deviceStateOf(row, now())))
          return profilesOf(targets)
            .filter(({ id }) => after === undefined || id > after)
            .slice(0, limit)
        }),

        offerOf: Effect.fnUntraced(function* ({ subject }) {
          const row = yield* targetRows.first(
            sql`SELECT ${columns} FROM devices WHERE id = ${subject} FOR KEY SHARE`
          )
          return row === undefined ? { workspaces: [], agents: [] } : targetOf(row, "offline")
        })
      })
    })
  )
}

const targetOf = (row: TargetRow, state: DeviceState): Target => ({
  id: row.id,
  name: row.name,
  state,
  ...(row.last_seen_at === null ? {} : { lastSeenAt: row.last_seen_at.toISOString() }),
  workspaces: row.workspaces,
  agents: row.agents
})

/** Sorted by id. An agent of an offline target is not available there. */
export const profilesOf = (targets: ReadonlyArray<Target>): ReadonlyArray<AgentProfile> => {
  const profiles = new Map<string, AgentProfile>()
  for (const { agents, id: targetId, state } of targets) {
    for (const { available, capabilities, id, label, runtime } of agents) {
      const profile = profiles.get(id) ?? { id, label, runtime, capabilities, targets: [] }
      const offered = { targetId, available: available && state === "online" }
      profiles.set(id, { ...profile, targets: [...profile.targets, offered] })
    }
  }
  return [...profiles.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}
