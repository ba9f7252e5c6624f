/**
 * Runs that keep a project from being deleted: in progress, on a device that may still be working on them.
 *
 * Does not: count runs of devices that were removed or revoked, or have been offline for a day. Such runs report to no Hub again, or have
 * reached their time limit; they would block the deletion forever.
 */
import { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { endedRunStates } from "../store/StateLists.ts"

/** Runs that a refusal lists. */
const MAX_LISTED = 20
const DAY_MS = 86_400_000

const liveRunRows = storedRows("runs", Schema.Struct({ id: RunId, target_id: DeviceId }))

export const liveRuns = (sql: SqlClient.SqlClient, projectId: string, now: Date) =>
  Effect.map(
    liveRunRows.all(sql`
    SELECT r.id, r.target_id FROM runs r JOIN devices d ON d.id = r.target_id
    WHERE r.project_id = ${projectId} AND r.state NOT IN ${endedRunStates(sql)} AND d.revoked_at IS NULL
      AND GREATEST(d.last_seen_at, d.lease_until, d.created_at) > ${new Date(now.getTime() - DAY_MS)}
    ORDER BY r.id LIMIT ${MAX_LISTED}`),
    (rows) => rows.map(({ id, target_id: targetId }) => ({ id, targetId }))
  )
