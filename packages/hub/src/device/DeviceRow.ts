/** Codec of the table `devices`. A device's offer has its own module, `StoredOffer`. */
import { type Device, DeviceKind } from "@corral/domain/device/Device"
import { DeviceId, ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"
import { rowDecoder, Timestamp } from "../store/StoredRows.ts"
import { deviceStateOf } from "./Presence.ts"

const DeviceRow = Schema.Struct({
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
  /** Projects that the reader may read. */
  shared_with: Schema.Array(ProjectId)
})

export const decodeDeviceRows = rowDecoder(DeviceRow)

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
