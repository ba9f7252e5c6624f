/**
 * Runs that a Hub started on this Edge, by device. A Hub can access only these runs, and receives only their events.
 *
 * A row is written together with its run, and stays after everything is pushed.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { Store, StoreFailed, Write } from "../store/Store.ts"
import type { Effect } from "effect"

/** The row that is written with `run.created`. */
export const insertHubRun = (deviceId: DeviceId, runId: RunId): Write => [
  "INSERT INTO hub_runs (run_id, device_id) VALUES (?, ?)",
  runId,
  deviceId
]

export const isOwned = (store: Store["Service"], deviceId: DeviceId, runId: RunId): boolean =>
  store.get("SELECT 1 FROM hub_runs WHERE run_id = ? AND device_id = ?", runId, deviceId) !== undefined

/** Whether events of the run are still to be pushed. */
export const hasUnpushedEvents = (store: Store["Service"], deviceId: DeviceId, runId: RunId): boolean =>
  store.get("SELECT 1 FROM hub_runs WHERE run_id = ? AND device_id = ? AND done = 0", runId, deviceId) !==
  undefined

/** Runs with events to push, oldest first. */
export const runsToPush = (store: Store["Service"], deviceId: DeviceId): ReadonlyArray<RunId> =>
  store
    .all<{
      readonly run_id: RunId
    }>("SELECT run_id FROM hub_runs WHERE done = 0 AND device_id = ? ORDER BY run_id", deviceId)
    .map(({ run_id }) => run_id)

/** Ends the push of a run. */
export const endPush = (
  store: Store["Service"],
  runId: RunId,
  acked: number
): Effect.Effect<void, StoreFailed> =>
  store.commit([["UPDATE hub_runs SET done = 1, acked_seq = ? WHERE run_id = ?", acked, runId]])

/** Ends the pushes of other devices, whose Hub no longer requests them. */
export const endPushesOfOtherDevices = (
  store: Store["Service"],
  deviceId: DeviceId
): Effect.Effect<void, StoreFailed> =>
  store.commit([["UPDATE hub_runs SET done = 1 WHERE done = 0 AND device_id <> ?", deviceId]])
