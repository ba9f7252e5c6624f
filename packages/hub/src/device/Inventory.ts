/**
 * What targets offer, as each of them reported it last: their workspaces and agents, to whoever may route to them.
 *
 * It does not know what a target offers now: a target that is asked to start a run decides that itself.
 */
import type { Agent } from "@corral/domain/run/Agent"
import type { AgentProfile } from "@corral/domain/run/AgentProfile"
import type { Proof } from "@corral/domain/access/Authorization"
import type { DeviceState, Target } from "@corral/domain/device/Device"
import type { DeviceId, ProjectId, UserId } from "@corral/domain/identity/Ids"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { routableBy } from "../authority/Routable.ts"
import { deviceStateOf } from "./Presence.ts"
import { limitTo } from "../store/Limit.ts"

export class Inventory extends Context.Service<
  Inventory,
  {
    /** Newest first, before the device of that id; of a project, those shared with it. */
    readonly targets: (
      reader: UserId,
      projectId: ProjectId | undefined,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Target>, SqlError.SqlError>
    /** By id, after that one: each agent once, with the targets that offer it. The target seen last describes it. */
    readonly agents: (
      reader: UserId,
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<AgentProfile>, SqlError.SqlError>
    /** What that one target offers; nothing where it was removed since. It is not removed while a transaction lasts that asked. */
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
      const columns = sql.literal("id, name, lease_until, revoked_at, last_seen_at, workspaces, agents")

      return Inventory.of({
        targets: (reader, projectId, before, limit) => {
          const { own, shared } = routableBy(sql, reader)
          const ofProject = sql`AND id IN (SELECT device_id FROM device_shares WHERE project_id = ${projectId ?? ""})`
          const page = sql`
            AND revoked_at IS NULL ${projectId === undefined ? sql`` : ofProject}
            ${before === undefined ? sql`` : sql`AND id < ${before}`} ORDER BY id DESC ${limitTo(sql, limit)}`
          // Two walks, each in the order of an index.
          return sql<Row>`
            SELECT * FROM (
              (SELECT ${columns} FROM devices WHERE ${own} ${page})
              UNION ALL
              (SELECT ${columns} FROM devices WHERE ${shared} ${page})
            ) routable ORDER BY id DESC ${limitTo(sql, limit)}`.pipe(
            Effect.map((rows) => rows.map((row) => targetOf(row, deviceStateOf(row, now()))))
          )
        },

        agents: Effect.fnUntraced(function* (reader, after, limit) {
          const { own, shared } = routableBy(sql, reader)
          const rows = yield* sql<Row>`
            SELECT ${columns} FROM devices WHERE revoked_at IS NULL AND (${own} OR (${shared}))
            ORDER BY last_seen_at DESC NULLS LAST, id DESC`
          const targets = rows.map((row) => targetOf(row, deviceStateOf(row, now())))
          return profilesOf(targets)
            .filter(({ id }) => after === undefined || id > after)
            .slice(0, limit)
        }),

        offerOf: ({ subject }) =>
          Effect.map(sql<Row>`SELECT ${columns} FROM devices WHERE id = ${subject} FOR KEY SHARE`, ([row]) =>
            row === undefined ? { workspaces: [], agents: [] } : targetOf(row, "offline")
          )
      })
    })
  )
}

interface Row {
  readonly id: DeviceId
  readonly name: string
  readonly lease_until: Date | null
  readonly revoked_at: Date | null
  readonly last_seen_at: Date | null
  readonly workspaces: string
  readonly agents: string
}

/** What a target reported was checked when it came: it is kept as its JSON text. */
const targetOf = ({ agents, id, last_seen_at, name, workspaces }: Row, state: DeviceState): Target => ({
  id,
  name,
  state,
  ...(last_seen_at === null ? {} : { lastSeenAt: last_seen_at.toISOString() }),
  workspaces: JSON.parse(workspaces) as ReadonlyArray<Workspace>,
  agents: JSON.parse(agents) as ReadonlyArray<Agent>
})

/** Sorted by id. An agent of a target that is away is not available there. */
export const profilesOf = (targets: ReadonlyArray<Target>): ReadonlyArray<AgentProfile> => {
  const profiles = new Map<string, AgentProfile>()
  for (const { agents, id: targetId, state } of targets) {
    for (const { available, capabilities, id, label, runtime } of agents) {
      const known = profiles.get(id) ?? { id, label, runtime, capabilities, targets: [] }
      const offered = { targetId, available: available && state === "online" }
      profiles.set(id, { ...known, targets: [...known.targets, offered] })
    }
  }
  return [...profiles.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}
