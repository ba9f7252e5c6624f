/** Queries for devices as one user sees them: the user's own, and those shared with a project of the user. */
import type { DeviceState } from "@corral/domain/device/Device"
import { PermissionDenied } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { limitTo } from "../store/Limit.ts"
import { deviceOf, deviceRows } from "./DeviceRow.ts"

export interface DeviceContext {
  readonly sql: SqlClient.SqlClient
  /** Unix milliseconds. */
  readonly now: () => number
}

export const findDevice = Effect.fnUntraced(function* (
  { now, sql }: DeviceContext,
  reader: string,
  id: string
) {
  const row = yield* deviceRows.first(sql`
    ${selectFor(sql, reader)} WHERE d.id = ${id} AND (${isOwn(sql, reader)} OR (${isShared(sql, reader)}))`)
  return row === undefined ? yield* new PermissionDenied() : deviceOf(row, now())
})

/** Devices before `before`, newest first. */
export const listDevices = Effect.fnUntraced(function* (
  { now, sql }: DeviceContext,
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
