/** The queue of change sets for Hubs. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { changeSetIdOf } from "../../src/change/ChangeIds.ts"
import { endedWithoutPush, markSent, queueSet, unsentSets } from "../../src/change/ChangePushes.ts"
import { insertHubRun } from "../../src/link/HubRuns.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { newRunId, runOf } from "../Samples.ts"

const device = "dev_00000000000000000000000000" as DeviceId

describe("ChangePushes", () => {
  it.effect("keeps a set until its newest state was sent", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const runId = newRunId()
      const setId = changeSetIdOf(runId)
      yield* store.commit([queueSet(setId, runId)])
      assert.isEmpty(unsentSets(store, device, 10), "the run is of no Hub")
      yield* store.commit([insertHubRun(device, runId)])
      const [first] = unsentSets(store, device, 10)
      assert.deepStrictEqual(first, { setId, runId, serial: 1 })
      yield* store.commit([queueSet(setId, runId)])
      yield* store.commit([markSent(setId, 1)])
      assert.deepStrictEqual(unsentSets(store, device, 10), [{ setId, runId, serial: 2 }])
      yield* store.commit([markSent(setId, 2), markSent(setId, 1)])
      assert.isEmpty(unsentSets(store, device, 10))
    }).pipe(Effect.provide(Store.layerMemory))
  )

  it.effect("finds sets of ended runs that the Edge did not put there", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [owner, next, live] = [newRunId(), newRunId(), newRunId()]
      yield* store.commit([
        insertRun(runOf(owner, { state: "completed", worktree: owner })),
        insertRun(runOf(next, { state: "completed", worktree: owner })),
        insertRun(runOf(live, { state: "running" })),
        ...[owner, next, live].map((id) => insertHubRun(device, id))
      ])
      const setId = changeSetIdOf(owner)
      assert.deepStrictEqual(
        endedWithoutPush(store).map(({ runId, setId: each }) => [runId, each]),
        [
          [next, setId],
          [owner, setId]
        ]
      )
      yield* store.commit([queueSet(setId, next), queueSet(setId, owner)])
      assert.strictEqual(unsentSets(store, device, 1)[0]?.runId, next)
      assert.isEmpty(endedWithoutPush(store))
    }).pipe(Effect.provide(Store.layerMemory))
  )
})
