/**
 * Takeover of a device's link by a new connection, and detection of two Edges that share one key.
 *
 * Guarantees: the new link has a higher generation than all before it. Two Edges that take the link from each other are recorded in the audit, and
 * refused if they do it again within a minute.
 */
import { Conflict } from "@corral/domain/errors/Failures"
import type { DeviceId, RequestId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Audit } from "../audit/Audit.ts"
import { generationRows, type LinkHolderRow, linkHolderRows } from "../device/DeviceRow.ts"
import { notify } from "../store/Notice.ts"
import type { EncodedOffer } from "./EncodedOffer.ts"
import { invalidDeviceProof } from "./Proofs.ts"

/** Result of a proof: the device that takes its link over. */
export interface LeaseRequest {
  readonly deviceId: DeviceId
  /** Key of the proof. It no longer names the device if the device has rotated it since. */
  readonly publicKey: string
  /** Names the start of the Edge. */
  readonly instanceId: string
  /** Names the connection in the device's row. */
  readonly connectionId: string
  readonly offer: EncodedOffer
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

/** Takes the link over. Part of the caller's transaction. */
export const takeOverLink = Effect.fn("Leases.acquire")(function* (
  context: LeaseContext,
  request: LeaseRequest
) {
  const { leaseEnd, now, sql } = context
  const { connectionId, deviceId, instanceId, offer, publicKey } = request
  const holder = yield* linkHolderRows.first(sql`
    SELECT instance_id, fenced_instances, lease_until, flapped_at FROM devices
    WHERE id = ${deviceId} AND public_key = ${publicKey} AND revoked_at IS NULL FOR NO KEY UPDATE`)
  if (holder === undefined) return yield* invalidDeviceProof()
  const at = now()
  const { fencedInstances, isFlapping } = fence(holder, instanceId, at)
  if (isFlapping && (holder.flapped_at?.getTime() ?? 0) > at - FLAPPING_MS)
    return yield* new Conflict({ message: "Another Edge uses this device's key." })
  const lease = yield* generationRows.first(sql`
    UPDATE devices SET generation = generation + 1, instance_id = ${instanceId}, connection_id = ${connectionId},
      fenced_instances = ${fencedInstances}::text[], flapped_at = ${isFlapping ? new Date(at) : holder.flapped_at},
      lease_until = ${leaseEnd()}, last_seen_at = ${new Date(at)},
      version = ${offer.version}, workspaces = ${offer.workspaces}, agents = ${offer.agents}, commands = ${offer.commands}
    WHERE id = ${deviceId} RETURNING generation::int AS generation`)
  if (lease === undefined) return yield* invalidDeviceProof()
  if (isFlapping) yield* recordFlapping(context, deviceId)
  yield* notify(sql, "presence", deviceId)
  return { deviceId, generation: lease.generation }
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
