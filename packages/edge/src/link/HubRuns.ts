/**
 * Runs that a Hub started here, by device. A Hub reaches only these runs, and receives only their events.
 *
 * A row is written together with its run. It stays when everything has been pushed: the run is still that Hub's.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { Store, StoreFailed, Write } from "../store/Store.ts"
import type { Effect } from "effect"

/** The row that goes with `run.created`. */
export const ownedBy = (deviceId: DeviceId, runId: RunId): Write => [
  "INSERT INTO hub_runs (run_id, device_id) VALUES (?, ?)",
  runId,
  deviceId
]

export const isOwned = (store: Store["Service"], deviceId: DeviceId, runId: RunId): boolean =>
  store.get("SELECT 1 FROM hub_runs WHERE run_id = ? AND device_id = ?", runId, deviceId) !== undefined

/** Whether there is something left to be pushed of it. */
export const isOpen = (store: Store["Service"], deviceId: DeviceId, runId: RunId): boolean =>
  store.get("SELECT 1 FROM hub_runs WHERE run_id = ? AND device_id = ? AND done = 0", runId, deviceId) !==
  undefined

/** Runs of which something is left to be pushed, oldest first. */
export const openRuns = (store: Store["Service"], deviceId: DeviceId): ReadonlyArray<RunId> =>
  store
    .all<{
      readonly run_id: RunId
    }>("SELECT run_id FROM hub_runs WHERE done = 0 AND device_id = ? ORDER BY run_id", deviceId)
    .map(({ run_id }) => run_id)

/** Nothing more of it is pushed. */
export const finish = (
  store: Store["Service"],
  runId: RunId,
  acked: number
): Effect.Effect<void, StoreFailed> =>
  store.commit([["UPDATE hub_runs SET done = 1, acked_seq = ? WHERE run_id = ?", acked, runId]])

/** What was meant for another device's Hub will never be asked for. */
export const forgetOthers = (store: Store["Service"], deviceId: DeviceId): Effect.Effect<void, StoreFailed> =>
  store.commit([["UPDATE hub_runs SET done = 1 WHERE done = 0 AND device_id <> ?", deviceId]])
