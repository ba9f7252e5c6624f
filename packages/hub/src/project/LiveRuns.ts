/**
 * Runs that keep a project from being deleted: in progress, on a device that may still be working on them.
 *
 * Does not count: runs of devices that were removed or revoked, or that have been away for a day. No Hub hears of these again, or the run has
 * long reached its own limit; the project could never be deleted.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import { isTerminal } from "@corral/domain/run/Run"
import type { SqlClient } from "effect/sql"

/** Named in a refusal. */
const MOST = 20
const DAY_MS = 86_400_000

const live = HubRunStatus.literals.filter((state) => state === "queued" || !isTerminal(state))

export interface LiveRun {
  readonly id: RunId
  readonly targetId: DeviceId
}

export const liveRuns = (sql: SqlClient.SqlClient, projectId: string, now: Date) => sql<LiveRun>`
  SELECT r.id, r.target_id AS "targetId" FROM runs r JOIN devices d ON d.id = r.target_id
  WHERE r.project_id = ${projectId} AND ${sql.in("r.state", live)} AND d.revoked_at IS NULL
    AND GREATEST(d.last_seen_at, d.lease_until, d.created_at) > ${new Date(now.getTime() - DAY_MS)}
  ORDER BY r.id LIMIT ${MOST}`
