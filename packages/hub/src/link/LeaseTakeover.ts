/**
 * Takeover of a device's link by a new connection, and detection of two Edges that share one key. Also the device's offer as the table
 * `devices` stores it: bounded JSON text that PostgreSQL accepts.
 *
 * Guarantees: the new link has a higher generation than all before it. Two Edges that take the link from each other are recorded in
 * the audit, and refused if they do it again within a minute.
 */
import { OFFLINE_AFTER_SECONDS } from "@corral/domain/device/Device"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Conflict, SchemaValidationFailed, type Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import type { Offer } from "@corral/domain/link/EdgeLink"
import type { Agent } from "@corral/domain/run/Agent"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Audit } from "../audit/Audit.ts"
import { type DeviceLink, type LinkHolderRow, lockedHolderRows, takenLinkRows } from "../device/DeviceRow.ts"
import { Gathered } from "../store/Gathered.ts"
import { notify } from "../store/Notices.ts"
import { PlannedSql } from "../store/Database.ts"
import { waitingTaskStates } from "../store/StateLists.ts"
import { invalidDeviceProof, type ProvedDevice } from "./Proofs.ts"

export interface EncodedOffer {
  readonly version: string
  readonly workspaces: string
  readonly agents: string
  /** Null for an Edge that does not list its commands. */
  readonly commands: string | null
}

const MAX_OFFERED = 200
const MAX_OFFER_CHARACTERS = 262_144

/** Fails if the offer is too large or contains text that can't be stored. */
export const encodeOffer = (offer: Offer): Effect.Effect<EncodedOffer, SchemaValidationFailed> => {
  let isStorable = offer.workspaces.length <= MAX_OFFERED && offer.agents.length <= MAX_OFFERED
  const text = (
    value: ReadonlyArray<Agent> | ReadonlyArray<Workspace> | ReadonlyArray<string> | string
  ): string =>
    JSON.stringify(value, (_, part: unknown) => {
      if (typeof part === "string" && (part.includes("\0") || !part.isWellFormed())) isStorable = false
      return part
    })
  const [agents, workspaces] = [text(offer.agents), text(offer.workspaces)]
  const commands = offer.commands === undefined ? null : text(offer.commands)
  const size = agents.length + workspaces.length + text(offer.version).length + (commands?.length ?? 0)
  return isStorable && size <= MAX_OFFER_CHARACTERS && offer.version.length <= 100
    ? Effect.succeed({ version: offer.version, workspaces, agents, commands })
    : Effect.fail(
        new SchemaValidationFailed({
          message: "The offer is too large or contains text that can't be stored.",
          details: {
            issues: [{ path: "offer", message: "Expected at most 200 workspaces and 200 agents in 256 KiB" }]
          }
        })
      )
}

/** Result of a proof: the device that takes its link over. */
export interface LeaseRequest {
  readonly deviceId: DeviceId
  /** The device's row when the proof was checked. The key no longer names the device if the device has rotated it since. */
  readonly device: ProvedDevice
  /** Names the start of the Edge. */
  readonly instanceId: string
  /** Names the connection in the device's row. */
  readonly connectionId: string
  readonly offer: EncodedOffer
}

export interface TakenLink extends DeviceLink {
  /** Whether tasks waited for the device. */
  readonly hasWaitingTasks: boolean
}

/** Fenced starts that a device remembers. */
const MAX_FENCED_INSTANCES = 16
/** Time within which a second takeover by a fenced start is refused. */
const FLAPPING_MS = 60_000

/** A link that takes its device over where the device's row is as it was read. */
interface Takeover {
  readonly request: LeaseRequest
  /** Generation that the row must have. */
  readonly generation: number
  readonly fencedInstances: ReadonlyArray<string>
  readonly flappedAt: Date | null
}

/** Offers have up to 256 KiB each. */
const TAKEOVERS_PER_STATEMENT = 64

/**
 * The takeover of a link: together with others where the device's row is as the proof has read it. Otherwise, and where two Edges share the key, in
 * a transaction that reads it again. Its statements end with the scope.
 */
export const makeTakeOver = Effect.fnUntraced(function* (now: () => number) {
  const sql = yield* SqlClient.SqlClient
  const planned = yield* PlannedSql
  const audit = yield* Audit
  const takeovers = yield* Gathered.make({
    answer: (together: ReadonlyArray<Takeover>) => storeTakeovers(planned, now(), together),
    limit: TAKEOVERS_PER_STATEMENT
  })

  const recordFlapping = Effect.fnUntraced(function* (deviceId: DeviceId) {
    yield* Effect.logWarning("two Edges used the same device key", { deviceId })
    yield* audit.record({
      action: "device.flapping",
      resource: deviceId,
      projectId: null,
      actor: deviceId,
      outcome: "failed",
      code: "conflict",
      requestId: mint<RequestId>("req", now())
    })
  })

  const takeOverLocked = Effect.fnUntraced(function* (request: LeaseRequest) {
    const { device, deviceId, instanceId } = request
    const holder = yield* lockedHolderRows.first(sql`
      SELECT instance_id, fenced_instances, lease_until, flapped_at, generation::int AS generation FROM devices
      WHERE id = ${deviceId} AND public_key = ${device.publicKey} AND revoked_at IS NULL FOR NO KEY UPDATE`)
    if (holder === undefined) return yield* invalidDeviceProof()
    const at = now()
    const { fencedInstances, isFlapping } = fence(holder, instanceId, at)
    if (isFlapping && (holder.flapped_at?.getTime() ?? 0) > at - FLAPPING_MS)
      return yield* new Conflict({ message: "Another Edge uses this device's key." })
    const flappedAt = isFlapping ? new Date(at) : holder.flapped_at
    const { generation } = holder
    const [taken] = yield* storeTakeovers(sql, at, [{ request, generation, fencedInstances, flappedAt }])
    if (taken === undefined) return yield* invalidDeviceProof()
    if (isFlapping) yield* recordFlapping(deviceId)
    return taken
  })

  return Effect.fn("LeaseTakeover.takeOver")(function* (
    request: LeaseRequest
  ): Effect.fn.Return<TakenLink, Conflict | Unauthorized | SqlError.SqlError> {
    const { generation, holder } = request.device
    const { fencedInstances, isFlapping } = fence(holder, request.instanceId, now())
    const taken = isFlapping
      ? undefined
      : yield* takeovers.ask({ request, generation, fencedInstances, flappedAt: holder.flapped_at })
    return taken ?? (yield* sql.withTransaction(takeOverLocked(request)))
  })
})

/** End of a lease that begins, or is renewed, at a time in Unix milliseconds. */
export const leaseEndOf = (at: number): Date => new Date(at + OFFLINE_AFTER_SECONDS * 1_000)

/** `undefined` where the row has changed, or another transaction has locked it. */
const storeTakeovers = Effect.fn("LeaseTakeover.store")(function* (
  sql: SqlClient.SqlClient,
  at: number,
  takeovers: ReadonlyArray<Takeover>
): Effect.fn.Return<ReadonlyArray<TakenLink | undefined>, SqlError.SqlError> {
  // Of two links of one device, the later one reads the row again.
  const firsts = new Map(takeovers.toReversed().map((takeover) => [takeover.request.deviceId, takeover]))
  const rows = yield* takenLinkRows.all(sql`
    WITH link AS (
      SELECT * FROM json_to_recordset(${JSON.stringify([...firsts.values()].map(linkColumnsOf))}::json) AS link (
        id text, key text, generation bigint, instance_id text, connection_id text, fenced_instances text[],
        flapped_at timestamptz, version text, workspaces text, agents text, commands text)
    ), held AS (
      SELECT id FROM devices WHERE id = ANY(${[...firsts.keys()]}::text[])
      FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE devices SET generation = devices.generation + 1, instance_id = link.instance_id,
      connection_id = link.connection_id, fenced_instances = link.fenced_instances, flapped_at = link.flapped_at,
      lease_until = ${leaseEndOf(at)}, linked = true, last_seen_at = ${new Date(at)},
      version = link.version, workspaces = link.workspaces, agents = link.agents, commands = link.commands
    FROM held JOIN link USING (id)
    WHERE devices.id = held.id AND public_key = link.key AND devices.generation = link.generation AND revoked_at IS NULL
    RETURNING devices.id, devices.generation::int AS generation,
      EXISTS (SELECT 1 FROM tasks WHERE target_id = devices.id AND state IN ${waitingTaskStates(sql)}) AS waits`)
  yield* notify(sql, "presence", ...rows.map(({ id }) => id))
  const byDevice = new Map(rows.map((row) => [row.id, row]))
  return takeovers.map((takeover) => {
    const { deviceId } = takeover.request
    const row = firsts.get(deviceId) === takeover ? byDevice.get(deviceId) : undefined
    return row && { deviceId, generation: row.generation, hasWaitingTasks: row.waits }
  })
})

const linkColumnsOf = ({ fencedInstances, flappedAt, generation, request }: Takeover) => ({
  id: request.deviceId,
  key: request.device.publicKey,
  generation,
  instance_id: request.instanceId,
  connection_id: request.connectionId,
  fenced_instances: fencedInstances,
  flapped_at: flappedAt,
  ...request.offer
})

/** A start that was fenced and connects again is running, and so is the start that fenced it. */
const fence = (holder: LinkHolderRow, instanceId: string, at: number) => {
  const isHeld = (holder.lease_until?.getTime() ?? 0) > at && holder.instance_id !== instanceId
  const fenced = isHeld ? holder.instance_id : null
  const others = holder.fenced_instances.filter((id) => id !== instanceId && id !== fenced)
  return {
    isFlapping: fenced !== null && holder.fenced_instances.includes(instanceId),
    fencedInstances: [...others, ...(fenced === null ? [] : [fenced])].slice(-MAX_FENCED_INSTANCES)
  }
}
