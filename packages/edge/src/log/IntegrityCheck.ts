/**
 * Integrity check of the store: the newest events at the start, everything in the background, and again every day.
 *
 * Works in slices of a few milliseconds on the reading connection, so that neither the writer nor requests wait for it. Reports damage
 * to the store. Does not repair anything.
 */
import { Effect, Layer } from "effect"
import { EdgeEventLog } from "./EdgeEventLog.ts"
import { type StoredDataCheck, storedDataChecks } from "./StoreExamination.ts"
import { Store } from "../store/Store.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

/** Budget of the check at the start. */
const START_BATCHES = 64
const START_BUDGET = 1_048_576
const PAUSE = "20 millis"

/** Damage ends a check: the store has received it. */
const untilDamage = Effect.catchDefect((defect) =>
  defect instanceof StoreDamaged ? Effect.void : Effect.die(defect)
)

/** Runs a check, with a pause before each slice. */
const inSlices = (check: StoredDataCheck) =>
  Effect.gen(function* () {
    for (const _ of check()) yield* Effect.sleep(PAUSE)
  }).pipe(untilDamage)

const make = Effect.gen(function* () {
  const log = yield* EdgeEventLog
  const store = yield* Store

  // A crash or a full disk damages the newest events first.
  yield* Effect.sync(() => {
    const newest = store.get<{ readonly batch: number | null }>("SELECT max(batch) AS batch FROM events")
    log.verify(Math.max((newest?.batch ?? 0) - START_BATCHES, 0), START_BUDGET)
  }).pipe(untilDamage)

  const whole = Effect.forEach(storedDataChecks(store), inSlices, { discard: true })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(whole, Effect.sleep("1 day"))))
})

export const integrityCheckLayer = Layer.effectDiscard(make)
