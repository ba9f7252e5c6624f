/**
 * Devices: their registration by their owner, or with a join token that the owner created, the projects that they are shared with, and their presence.
 *
 * Guarantees: members of a project see the devices that are shared with it, and of a device's other projects only those that they may read. A join token
 * registers one device for its owner within an hour, and only its hash is stored. A public key belongs to one device.
 * Does not verify devices; the link does.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import {
  type Device,
  type DeviceState,
  type JoinToken,
  MAX_JOIN_SECONDS,
  type RegisterDevice,
  type UpdateDevice
} from "@corral/domain/device/Device"
import { Conflict, PermissionDenied, Unauthorized } from "@corral/domain/errors/Failures"
import { type DeviceId, type ProjectId, UserId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { newToken, purposeOf, tokenHash } from "../signin/SessionToken.ts"
import { limitTo } from "../store/ListPage.ts"
import { notify } from "../store/Notices.ts"
import { storedRows } from "../store/StoredRows.ts"
import { releaseOfDevice } from "../usage/Reservations.ts"
import { deviceOf, deviceRows, revocationRows } from "./DeviceRow.ts"

/** Change of the projects that a device is shared with. A project is added with the proof that the owner manages devices there. */
export interface ShareChange {
  readonly added: ReadonlyArray<Proof<"device.manage">>
  readonly ended: ReadonlyArray<ProjectId>
}

/** Devices: their owner, the projects that they are shared with, and their presence. */
export class Devices extends Context.Service<
  Devices,
  {
    /** Devices before `before`, newest first. */
    readonly list: (
      reader: UserId,
      state: DeviceState | undefined,
      before: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Device>, SqlError.SqlError>
    readonly get: (
      reader: UserId,
      id: DeviceId
    ) => Effect.Effect<Device, PermissionDenied | SqlError.SqlError>
    /** A revoked device does not change: revoking it again succeeds, any other change is refused. */
    readonly update: (
      proof: Proof<"device.manage">,
      change: Omit<UpdateDevice, "sharedWith">,
      sharing: ShareChange
    ) => Effect.Effect<Device, Conflict | PermissionDenied | SqlError.SqlError>
    readonly remove: (
      proof: Proof<"device.manage">
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/Devices") {
  static readonly layer = Layer.effect(
    Devices,
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const sql = yield* SqlClient.SqlClient
      const now = () => clock.currentTimeMillisUnsafe()
      return Devices.of({
        get: (reader, id) => findDevice(sql, now, reader, id),
        list: (reader, state, before, limit) => listDevices(sql, now, reader, state, before, limit),
        update: (proof, change, sharing) =>
          sql.withTransaction(updateDevice(sql, now, proof, change, sharing)),
        remove: Effect.fn("Devices.remove")(function* ({ subject }) {
          const removed = yield* sql`DELETE FROM devices WHERE id = ${subject} RETURNING id`
          if (removed.length === 0) return yield* new PermissionDenied()
          yield* releaseOfDevice(sql, subject)
          yield* notify(sql, "deviceEnded", subject)
        }, sql.withTransaction)
      })
    })
  )
}

const updateDevice = Effect.fn("Devices.update")(function* (
  sql: SqlClient.SqlClient,
  now: () => number,
  { principal, subject }: Proof<"device.manage">,
  { name, state }: Omit<UpdateDevice, "sharedWith">,
  sharing: ShareChange
) {
  const locked = yield* revocationRows.first(
    sql`SELECT revoked_at FROM devices WHERE id = ${subject} FOR UPDATE`
  )
  if (locked === undefined) return yield* new PermissionDenied()
  const isSharingChanged = sharing.added.length + sharing.ended.length > 0
  if (locked.revoked_at !== null && (name !== undefined || isSharingChanged))
    return yield* new Conflict({ message: "You can't change a revoked device." })
  if (name !== undefined) yield* sql`UPDATE devices SET name = ${name} WHERE id = ${subject}`
  yield* storeSharing(sql, subject, sharing)
  if (state === "revoked" && locked.revoked_at === null) {
    yield* sql`
      UPDATE devices SET revoked_at = ${new Date(now())}, lease_until = NULL, linked = false, connection_id = NULL WHERE id = ${subject}`
    yield* releaseOfDevice(sql, subject)
    yield* notify(sql, "deviceEnded", subject)
  }
  return yield* findDevice(sql, now, principal, subject)
})

const storeSharing = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  deviceId: string,
  { added, ended }: ShareChange
) {
  if (ended.length > 0)
    yield* sql`
      DELETE FROM device_projects WHERE device_id = ${deviceId} AND ${sql.in("project_id", ended)}`
  // A project that was removed since its proof is skipped.
  for (const { subject: projectId } of added)
    yield* sql`
      INSERT INTO device_projects (device_id, project_id)
      SELECT ${deviceId}, id FROM projects WHERE id = ${projectId} FOR KEY SHARE
      ON CONFLICT DO NOTHING`
})

/** A device as one user sees it: an own one, or one that is shared with a project of the user. `now` in Unix milliseconds. */
const findDevice = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  now: () => number,
  reader: string,
  id: string
) {
  const row = yield* deviceRows.first(sql`
    ${selectFor(sql, reader)} WHERE d.id = ${id} AND (${isOwn(sql, reader)} OR (${isShared(sql, reader)}))`)
  return row === undefined ? yield* new PermissionDenied() : deviceOf(row, now())
})

/** Devices before `before`, newest first. */
const listDevices = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  now: () => number,
  reader: string,
  state: DeviceState | undefined,
  before: string | undefined,
  limit: number
) {
  const columns = selectFor(sql, reader)
  const page = sql`
    ${state === undefined ? sql`` : sql`AND ${isInState(sql, state, new Date(now()))}`}
    ${before === undefined ? sql`` : sql`AND d.id < ${before}`}
    ORDER BY d.id DESC ${limitTo(sql, limit)}`
  // Two scans, each in the order of an index.
  const rows = yield* deviceRows.all(sql`
    SELECT d.* FROM (
      (${columns} WHERE ${isOwn(sql, reader)} ${page}) UNION ALL (${columns} WHERE ${isShared(sql, reader)} ${page})
    ) d ORDER BY d.id DESC ${limitTo(sql, limit)}`)
  return rows.map((row) => deviceOf(row, now()))
})

/** Includes only the projects that the reader may read. */
const selectFor = (sql: SqlClient.SqlClient, reader: string) => sql`
  SELECT d.id, d.name, d.kind, d.owner_id, d.public_key, d.version, d.lease_until, d.revoked_at, d.last_seen_at, d.created_at,
    ARRAY(
      SELECT s.project_id FROM device_shares s
      WHERE s.device_id = d.id AND (d.owner_id = ${reader} OR EXISTS (
        SELECT 1 FROM projects p LEFT JOIN project_members m ON m.project_id = p.id AND m.user_id = ${reader}
        WHERE p.id = s.project_id AND (m.role IS NOT NULL OR p.visibility = 'internal')
      ))
      ORDER BY s.project_id
    ) AS shared_with
  FROM devices d`

const isOwn = (sql: SqlClient.SqlClient, reader: string) => sql`d.owner_id = ${reader}`

const isShared = (sql: SqlClient.SqlClient, reader: string) => sql`
  d.owner_id <> ${reader} AND d.id = ANY (ARRAY(
    SELECT s.device_id FROM project_members m JOIN device_shares s ON s.project_id = m.project_id
    WHERE m.user_id = ${reader}
  ))`

const isInState = (sql: SqlClient.SqlClient, state: DeviceState, now: Date) =>
  state === "revoked"
    ? sql`d.revoked_at IS NOT NULL`
    : state === "online"
      ? sql`d.revoked_at IS NULL AND d.lease_until > ${now}`
      : sql`d.revoked_at IS NULL AND (d.lease_until IS NULL OR d.lease_until <= ${now})`

const joinTokenRows = storedRows("join_tokens", Schema.Struct({ owner_id: UserId }))

/**
 * Registration of devices: by their owner, or with a join token that the owner created.
 *
 * Guarantees: a join token registers one device for its owner within an hour, and only its hash is stored. A public key belongs to one device.
 */
export class DeviceRegistration extends Context.Service<
  DeviceRegistration,
  {
    readonly createJoinToken: (
      owner: UserId,
      seconds: number | undefined
    ) => Effect.Effect<JoinToken, SqlError.SqlError>
    /** Owner of the token, also after its use or expiry, so that a repeated request finds its owner. */
    readonly findJoinTokenOwner: (token: string) => Effect.Effect<UserId | undefined, SqlError.SqlError>
    /** Uses up the token. Run it in a transaction, so that a refused device does not use up its token. */
    readonly register: (
      owner: UserId,
      device: RegisterDevice
    ) => Effect.Effect<Device, Conflict | Unauthorized | SqlError.SqlError>
  }
>()("corral/hub/DeviceRegistration") {
  static readonly layer = Layer.effect(
    DeviceRegistration,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock

      const useToken = Effect.fnUntraced(function* (token: string, owner: UserId, at: Date) {
        const used = yield* sql`
          UPDATE join_tokens SET used_at = ${at}
          WHERE token_hash = ${tokenHash(token)} AND owner_id = ${owner} AND used_at IS NULL AND expires_at > ${at}
          RETURNING 1`
        if (used.length === 0)
          return yield* new Unauthorized({ message: "This join token was used or has expired." })
      })

      return DeviceRegistration.of({
        createJoinToken: Effect.fn("Devices.createJoinToken")(function* (owner, seconds = MAX_JOIN_SECONDS) {
          const now = clock.currentTimeMillisUnsafe()
          const token = newToken("join")
          const expiresAt = new Date(now + seconds * 1_000)
          // Stored for a day after expiry, like responses to requests with an idempotency key.
          yield* sql`DELETE FROM join_tokens WHERE expires_at < ${new Date(now - 86_400_000)}`
          yield* sql`INSERT INTO join_tokens ${sql.insert({ token_hash: tokenHash(token), owner_id: owner, expires_at: expiresAt })}`
          return { token, expiresAt: expiresAt.toISOString() }
        }),

        findJoinTokenOwner: Effect.fn("Devices.findJoinTokenOwner")(function* (token) {
          if (purposeOf(token) !== "join") return undefined
          const row = yield* joinTokenRows.first(
            sql`SELECT owner_id FROM join_tokens WHERE token_hash = ${tokenHash(token)}`
          )
          return row?.owner_id
        }),

        register: Effect.fn("Devices.register")(function* (owner, { joinToken, kind, name, publicKey }) {
          const at = new Date(clock.currentTimeMillisUnsafe())
          if (joinToken !== undefined) yield* useToken(joinToken, owner, at)
          const id = mint<DeviceId>("dev", at.getTime())
          const row = { id, owner_id: owner, name, kind, public_key: publicKey, created_at: at }
          const inserted = yield* sql`
            INSERT INTO devices ${sql.insert(row)} ON CONFLICT (public_key) DO NOTHING RETURNING id`
          if (inserted.length === 0)
            return yield* new Conflict({ message: "A device with this key is already registered." })
          return {
            id,
            name,
            kind,
            state: "offline" as const,
            ownerId: owner,
            sharedWith: [],
            publicKey,
            createdAt: at.toISOString()
          }
        })
      })
    })
  )
}
