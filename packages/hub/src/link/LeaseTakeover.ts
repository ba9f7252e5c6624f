/**
 * Takeover of a device's link by a new connection, and detection of two Edges that share one key.
 *
 * Guarantees: the new link has a higher generation than all before it. Two Edges that take the link from each other are recorded in the audit, and
 * refused if they do it again within a minute.
 */
import { Conflict, type Unauthorized } from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Audit } from "../audit/Audit.ts"
import { type LinkHolderRow, linkHolderRows, takenLinkRows } from "../device/DeviceRow.ts"
import type { DeviceLink } from "../device/DeviceLink.ts"
import { notify } from "../store/Notice.ts"
import type { EncodedOffer } from "./EncodedOffer.ts"
import { invalidDeviceProof, type ProvedDevice } from "./Proofs.ts"

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

export interface LeaseContext {
  readonly sql: SqlClient.SqlClient
  readonly audit: Audit["Service"]
  /** Unix milliseconds. */
  readonly now: () => number
  readonly leaseEnd: () => Date
}

/** Fenced starts that a device remembers. */
const MAX_FENCED_INSTANCES = 16
/** Time within which a second takeover by a fenced start is refused. */
const FLAPPING_MS = 60_000

/**
 * Takes the link over, in one statement where the device's row is as the proof has read it. Otherwise, and where two Edges share the key, in a
 * transaction that reads it again.
 */
export const takeOverLink = Effect.fn("Leases.acquire")(function* (
  context: LeaseContext,
  request: LeaseRequest
): Effect.fn.Return<TakenLink, Conflict | Unauthorized | SqlError.SqlError> {
  const at = context.now()
  const { generation, holder } = request.device
  const { fencedInstances, isFlapping } = fence(holder, request.instanceId, at)
  const taken = isFlapping
    ? undefined
    : yield* storeTakeover(context, request, {
        at,
        fencedInstances,
        flappedAt: holder.flapped_at,
        generation
      })
  return taken ?? (yield* context.sql.withTransaction(takeOverLocked(context, request)))
})

const takeOverLocked = Effect.fnUntraced(function* (context: LeaseContext, request: LeaseRequest) {
  const { now, sql } = context
  const { device, deviceId, instanceId } = request
  const holder = yield* linkHolderRows.first(sql`
    SELECT instance_id, fenced_instances, lease_until, flapped_at FROM devices
    WHERE id = ${deviceId} AND public_key = ${device.publicKey} AND revoked_at IS NULL FOR NO KEY UPDATE`)
  if (holder === undefined) return yield* invalidDeviceProof()
  const at = now()
  const { fencedInstances, isFlapping } = fence(holder, instanceId, at)
  if (isFlapping && (holder.flapped_at?.getTime() ?? 0) > at - FLAPPING_MS)
    return yield* new Conflict({ message: "Another Edge uses this device's key." })
  const flappedAt = isFlapping ? new Date(at) : holder.flapped_at
  const taken = yield* storeTakeover(context, request, { at, fencedInstances, flappedAt })
  if (taken === undefined) return yield* invalidDeviceProof()
  if (isFlapping) yield* recordFlapping(context, deviceId)
  return taken
})

interface Takeover {
  /** Unix milliseconds. */
  readonly at: number
  readonly fencedInstances: ReadonlyArray<string>
  readonly flappedAt: Date | null
  /** Generation that the row must have; absent for a locked row. */
  readonly generation?: number
}

/** `undefined` if the row has changed. */
const storeTakeover = Effect.fnUntraced(function* (
  { leaseEnd, sql }: LeaseContext,
  { connectionId, deviceId, instanceId, device, offer }: LeaseRequest,
  { at, fencedInstances, flappedAt, generation }: Takeover
) {
  const taken = yield* takenLinkRows.first(sql`
    UPDATE devices SET generation = generation + 1, instance_id = ${instanceId}, connection_id = ${connectionId},
      fenced_instances = ${fencedInstances}::text[], flapped_at = ${flappedAt},
      lease_until = ${leaseEnd()}, linked = true, last_seen_at = ${new Date(at)},
      version = ${offer.version}, workspaces = ${offer.workspaces}, agents = ${offer.agents}, commands = ${offer.commands}
    WHERE id = ${deviceId} AND public_key = ${device.publicKey} AND revoked_at IS NULL
      ${generation === undefined ? sql`` : sql`AND generation = ${generation}`}
    RETURNING generation::int AS generation,
      EXISTS (SELECT 1 FROM tasks WHERE target_id = devices.id AND state IN ('pending', 'queued')) AS waits`)
  if (taken === undefined) return undefined
  yield* notify(sql, "presence", deviceId)
  return { deviceId, generation: taken.generation, hasWaitingTasks: taken.waits }
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

const recordFlapping = Effect.fnUntraced(function* ({ audit, now }: LeaseContext, deviceId: DeviceId) {
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
