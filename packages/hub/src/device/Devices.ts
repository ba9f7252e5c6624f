/**
 * Devices: whose they are, with which projects they are shared, and whether they are there.
 *
 * A device belongs to its owner. Members of a project with which it is shared see it, and of its other projects only those that they may
 * read. It does not know how a device proves that it is one.
 */
import type { Proof } from "@corral/domain/access/Authorization"
import type { Device, DeviceKind, DeviceState, UpdateDevice } from "@corral/domain/device/Device"
import { Conflict, PermissionDenied } from "@corral/domain/errors/Failures"
import type { DeviceId, ProjectId, UserId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { notify } from "../store/Notice.ts"
import { deviceStateOf } from "./Presence.ts"

/** With which projects a device is shared from now on, each with the proof that its owner manages devices there, and no longer. */
export interface Sharing {
  readonly added: ReadonlyArray<Proof<"device.manage">>
  readonly ended: ReadonlyArray<ProjectId>
}

export class Devices extends Context.Service<
  Devices,
  {
    /** Newest first, before the device of that id. */
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
    /** A revoked device stays as it is: asked for that again it is given, anything else is refused. */
    readonly update: (
      proof: Proof<"device.manage">,
      change: Omit<UpdateDevice, "sharedWith">,
      sharing: Sharing
    ) => Effect.Effect<Device, Conflict | PermissionDenied | SqlError.SqlError>
    readonly remove: (
      proof: Proof<"device.manage">
    ) => Effect.Effect<void, PermissionDenied | SqlError.SqlError>
  }
>()("corral/hub/Devices") {
  static readonly layer = Layer.effect(
    Devices,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const now = () => clock.currentTimeMillisUnsafe()

      const select = (reader: string) => sql`
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
      const own = (reader: string) => sql`d.owner_id = ${reader}`
      const shared = (reader: string) => sql`
        d.owner_id <> ${reader} AND d.id = ANY (ARRAY(
          SELECT s.device_id FROM project_members m JOIN device_shares s ON s.project_id = m.project_id
          WHERE m.user_id = ${reader}
        ))`

      const inState = (state: DeviceState) =>
        state === "revoked"
          ? sql`d.revoked_at IS NOT NULL`
          : state === "online"
            ? sql`d.revoked_at IS NULL AND d.lease_until > ${new Date(now())}`
            : sql`d.revoked_at IS NULL AND (d.lease_until IS NULL OR d.lease_until <= ${new Date(now())})`

      const get = Effect.fnUntraced(function* (reader: string, id: string) {
        const [row] = yield* sql<Row>`
          ${select(reader)} WHERE d.id = ${id} AND (${own(reader)} OR (${shared(reader)}))`
        return row === undefined ? yield* new PermissionDenied() : deviceOf(row, now())
      })

      const ended = (id: string) => notify(sql, "deviceEnded", id)

      return Devices.of({
        get,

        list: (reader, state, before, limit) => {
          const page = sql`
            ${state === undefined ? sql`` : sql`AND ${inState(state)}`}
            ${before === undefined ? sql`` : sql`AND d.id < ${before}`}
            ORDER BY d.id DESC ${limitTo(sql, limit)}`
          // Two walks, each in the order of an index.
          return sql<Row>`
            SELECT d.* FROM (
              (${select(reader)} WHERE ${own(reader)} ${page}) UNION ALL (${select(reader)} WHERE ${shared(reader)} ${page})
            ) d ORDER BY d.id DESC ${limitTo(sql, limit)}`.pipe(
            Effect.map((rows) => rows.map((row) => deviceOf(row, now())))
          )
        },

        update: ({ principal, subject }, { name, state }, sharing) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const [held] = yield* sql<Pick<Row, "revoked_at">>`
                SELECT revoked_at FROM devices WHERE id = ${subject} FOR UPDATE`
              if (held === undefined) return yield* new PermissionDenied()
              const shares = sharing.added.length + sharing.ended.length > 0
              if (held.revoked_at !== null && (name !== undefined || shares))
                return yield* new Conflict({ message: "A revoked device stays as it was." })
              if (name !== undefined) yield* sql`UPDATE devices SET name = ${name} WHERE id = ${subject}`
              if (sharing.ended.length > 0)
                yield* sql`
                  DELETE FROM device_projects WHERE device_id = ${subject} AND ${sql.in("project_id", sharing.ended)}`
              // A project that was removed since its proof was made is left out.
              for (const { subject: projectId } of sharing.added)
                yield* sql`
                  INSERT INTO device_projects (device_id, project_id)
                  SELECT ${subject}, id FROM projects WHERE id = ${projectId} FOR KEY SHARE
                  ON CONFLICT DO NOTHING`
              if (state === "revoked" && held.revoked_at === null) {
                yield* sql`
                  UPDATE devices SET revoked_at = ${new Date(now())}, lease_until = NULL, connection_id = NULL WHERE id = ${subject}`
                yield* ended(subject)
              }
              return yield* get(principal, subject)
            })
          ),

        remove: ({ subject }) =>
          sql.withTransaction(
            Effect.gen(function* () {
              const removed = yield* sql`DELETE FROM devices WHERE id = ${subject} RETURNING id`
              if (removed.length === 0) return yield* new PermissionDenied()
              yield* ended(subject)
            })
          )
      })
    })
  )
}

interface Row {
  readonly id: DeviceId
  readonly name: string
  readonly kind: DeviceKind
  readonly owner_id: UserId
  readonly public_key: string
  readonly version: string | null
  readonly lease_until: Date | null
  readonly revoked_at: Date | null
  readonly last_seen_at: Date | null
  readonly created_at: Date
  readonly shared_with: ReadonlyArray<ProjectId>
}

const deviceOf = (row: Row, now: number): Device => ({
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
