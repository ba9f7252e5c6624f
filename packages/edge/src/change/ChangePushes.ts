/**
 * Queue of change sets whose newest state a Hub does not have. A set has one row, with the number of its newest change and of the last one that the Hub
 * has.
 *
 * Guarantees: a set enters the queue in the commit of a decision.
 */
import type { ChangeSetId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { Store, Write } from "../store/Store.ts"
import { hasLiveState } from "../store/LiveState.ts"
import { changeSetIdOf } from "./ChangeIds.ts"

export interface UnsentSet {
  readonly setId: ChangeSetId
  /** The newest run of the set. */
  readonly runId: RunId
  readonly serial: number
}

/** Puts a set into the queue. */
export const queueSet = (setId: ChangeSetId, runId: RunId): Write => [
  `INSERT INTO change_pushes (set_id, run_id, serial, sent) VALUES (?, ?, 1, 0)
   ON CONFLICT (set_id) DO UPDATE SET run_id = max(run_id, excluded.run_id), serial = serial + 1`,
  setId,
  runId
]

/** Sets of runs of this device whose newest state the Hub does not have, oldest first. */
export const unsentSets = (
  store: Store["Service"],
  deviceId: DeviceId,
  limit: number
): ReadonlyArray<UnsentSet> =>
  store.all<UnsentSet>(
    `SELECT set_id AS setId, run_id AS runId, serial FROM change_pushes WHERE sent < serial
     AND EXISTS (SELECT 1 FROM hub_runs WHERE hub_runs.run_id = change_pushes.run_id AND device_id = ?)
     ORDER BY set_id LIMIT ?`,
    deviceId,
    limit
  )

/** The Hub has the state of this number. A later one stays in the queue. */
export const markSent = (setId: ChangeSetId, serial: number): Write => [
  "UPDATE change_pushes SET sent = ? WHERE set_id = ? AND sent < ?",
  serial,
  setId,
  serial
]

/** Runs for one start. */
const MAX_ENDED = 100

/** Sets of ended runs that are not in the queue: the Edge ended before it put them there. */
export const endedWithoutPush = (store: Store["Service"]): ReadonlyArray<UnsentSet> =>
  store
    .all<{ readonly id: RunId; readonly owner: RunId | null }>(
      `SELECT id, coalesce(json_extract(snapshot, '$.worktree'), json_extract(snapshot, '$.layer.owner')) AS owner FROM runs
       WHERE NOT (${hasLiveState}) AND log = 'kept' AND EXISTS (SELECT 1 FROM hub_runs WHERE hub_runs.run_id = runs.id)
       AND NOT EXISTS (SELECT 1 FROM change_pushes WHERE change_pushes.run_id >= runs.id
         AND set_id = 'chs_' || substr(coalesce(json_extract(snapshot, '$.worktree'), json_extract(snapshot, '$.layer.owner'), id), 5))
       ORDER BY id DESC LIMIT ?`,
      MAX_ENDED
    )
    .map(({ id, owner }) => ({ setId: changeSetIdOf(owner ?? id), runId: id, serial: 0 }))
