/** Codec of the table `devices`. Also a device's verified link, offer and presence, which are columns of it, and an agent of its last offer. */
import { type Device, DeviceKind, type DeviceState, Target } from "@corral/domain/device/Device"
import { Conflict, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { type AgentId, DeviceId, ProjectId, UserId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import { type Budget, uncountedLimits, uncountedMessage } from "@corral/domain/run/Budget"
import { Effect, Schema, Struct } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { jsonColumn, storedRows, Timestamp } from "../store/StoredRows.ts"

export interface DeviceLink {
  readonly deviceId: DeviceId
  readonly generation: number
}

// Columns of a device's offer in the table `devices`: JSON text that the link has checked before.
//
// An offer has up to 256 KiB, so only statements that need it select these columns.

export const offerColumns = {
  workspaces: jsonColumn(Target.fields.workspaces),
  agents: jsonColumn(Target.fields.agents),
  /** Null for an Edge that does not list its commands. */
  commands: Schema.NullOr(jsonColumn(Schema.Array(Schema.String)))
}

export interface DeviceOffer extends Pick<Target, "workspaces" | "agents"> {
  /** Supported commands. Those that every Edge supports may be missing. */
  readonly commands: ReadonlyArray<string>
}

// Presence of a device, by its lease. A revoked device never comes back.

interface Lease {
  readonly revoked_at: Date | null
  readonly lease_until: Date | null
}

/** `now` in Unix milliseconds. */
export const deviceStateOf = ({ lease_until, revoked_at }: Lease, now: number): DeviceState =>
  revoked_at !== null ? "revoked" : lease_until !== null && lease_until.getTime() > now ? "online" : "offline"

const columns = {
  id: DeviceId,
  name: Schema.String,
  kind: DeviceKind,
  owner_id: UserId,
  public_key: Schema.String,
  version: Schema.NullOr(Schema.String),
  lease_until: Schema.NullOr(Timestamp),
  revoked_at: Schema.NullOr(Timestamp),
  last_seen_at: Schema.NullOr(Timestamp),
  created_at: Timestamp,
  generation: Schema.Int,
  /** Start of the Edge that has the link. */
  instance_id: Schema.NullOr(Schema.String),
  fenced_instances: Schema.Array(Schema.String),
  flapped_at: Schema.NullOr(Timestamp),
  ...offerColumns
}
/** Whether the device was revoked: `revoked_at IS NOT NULL`. */
const revoked = Schema.Boolean

const DeviceRow = Schema.Struct({
  ...Struct.pick(columns, [
    "id",
    "name",
    "kind",
    "owner_id",
    "public_key",
    "version",
    "lease_until",
    "revoked_at",
    "last_seen_at",
    "created_at"
  ]),
  /** Projects that the reader may read. */
  shared_with: Schema.Array(ProjectId)
})

const TargetRow = Schema.Struct(
  Struct.pick(columns, ["id", "name", "lease_until", "revoked_at", "last_seen_at", "workspaces", "agents"])
)
export type TargetRow = typeof TargetRow.Type

const LinkHolderRow = Schema.Struct(
  Struct.pick(columns, ["instance_id", "fenced_instances", "lease_until", "flapped_at"])
)
export type LinkHolderRow = typeof LinkHolderRow.Type

export const deviceRows = storedRows("devices", DeviceRow)
export const deviceIdRows = storedRows("devices", Schema.Struct({ id: columns.id }))
export const targetRows = storedRows("devices", TargetRow)
export const TARGET_COLUMNS = Object.keys(TargetRow.fields).join(", ")
export const offerRows = storedRows(
  "devices",
  Schema.Struct({ ...offerColumns, present: Schema.NullOr(Schema.Boolean) })
)
export const lastSeenRows = storedRows("devices", Schema.Struct({ last_seen_at: columns.last_seen_at }))
export const revocationRows = storedRows("devices", Schema.Struct({ revoked_at: columns.revoked_at }))
export const presenceRows = storedRows(
  "devices",
  Schema.Struct({
    ...Struct.pick(columns, ["id", "lease_until", "revoked_at", "last_seen_at", "owner_id"]),
    /** Readers who are members of a project that the device is shared with. */
    members: Schema.Array(UserId)
  })
)
export const lockedHolderRows = storedRows(
  "devices",
  Schema.Struct({ ...LinkHolderRow.fields, generation: columns.generation })
)
export const linkRows = storedRows(
  "devices",
  Schema.Struct({ id: columns.id, generation: columns.generation, revoked })
)
/** `before`: end of the lease before its renewal. */
export const renewedLeaseRows = storedRows(
  "devices",
  Schema.Struct({ id: columns.id, generation: columns.generation, before: columns.lease_until })
)
/** `usable`: an Edge that is not revoked. */
export const deviceKeyRows = storedRows(
  "devices",
  Schema.Struct({
    ...LinkHolderRow.fields,
    ...Struct.pick(columns, ["id", "public_key", "generation"]),
    usable: Schema.Boolean
  })
)
/** `waits`: tasks wait for the device. */
export const takenLinkRows = storedRows(
  "devices",
  Schema.Struct({
    ...Struct.pick(columns, ["id", "generation"]),
    waits: Schema.Boolean
  })
)

/** `now` in Unix milliseconds. */
export const deviceOf = (row: typeof DeviceRow.Type, now: number): Device => ({
  id: row.id,
  name: row.name,
  kind: row.kind,
  state: deviceStateOf(row, now),
  ownerId: row.owner_id,
  sharedWith: row.shared_with,
  publicKey: row.public_key,
  ...(row.version === null ? {} : { version: row.version }),
  ...(row.last_seen_at === null ? {} : { lastSeenAt: row.last_seen_at.toISOString() }),
  createdAt: row.created_at.toISOString()
})

const agentRows = storedRows("devices", Schema.Struct({ agents: Schema.NullOr(offerColumns.agents) }))

/** `undefined` if the device does not offer it. */
export const findOfferedAgent = (
  sql: SqlClient.SqlClient,
  targetId: DeviceId,
  agentId: AgentId
): Effect.Effect<Agent | undefined, SqlError.SqlError> =>
  Effect.map(agentRows.first(sql`SELECT agents FROM devices WHERE id = ${targetId}`), (row) =>
    findAgent(row?.agents ?? undefined, agentId)
  )

/** `undefined` if the agent can have the budget. Early versions of the Edge do not say what their agents count. */
export const findBudgetRefusal = (
  { counts, label }: Pick<Agent, "counts" | "label">,
  budget: Budget | undefined
): Conflict | SchemaValidationFailed | undefined => {
  const [limit] = uncountedLimits(budget, counts ?? [])
  if (limit === undefined) return undefined
  const issue = { path: `budget.${limit}`, message: uncountedMessage(label, limit) }
  return counts === undefined
    ? new Conflict({
        message: "The Edge of this device is too old to limit tokens, turns or cost. Update it.",
        details: { reason: "edge_outdated" }
      })
    : new SchemaValidationFailed({ details: { issues: [issue] } })
}
