/**
 * Retention: deletes the events of runs that ended long ago, and of the oldest runs if the store is too large.
 *
 * Guarantees: a log is deleted whole. It is marked first, which hides it from every reader, and then deleted in small commits with pauses
 * between them. The run's row, its approvals and its questions stay. A live run is never touched. A run that a Hub has not received completely is deleted
 * only if nothing else can make the store small enough. If the Edge dies in between, the next pass continues.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer } from "effect"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import type { RetentionLimits } from "../config/RetentionLimits.ts"
import { deleteExpiredResults } from "../log/EdgeIdempotency.ts"
import { reservePositions } from "../log/EventRows.ts"
import { Store, type StoreFailed } from "../store/Store.ts"

/** Deletes what a service stores for a run. May be called again for the same run, after a crash or a failure. */
export type DeleteRunData = (runId: RunId) => Effect.Effect<void, StoreFailed>

export class Retention extends Context.Service<
  Retention,
  {
    /** Registers a function that runs for each run whose events were deleted. */
    readonly onForget: (forget: DeleteRunData) => void
    /** Registers what runs at the end of each pass. */
    readonly onSweep: (also: Effect.Effect<void>) => void
    /** One pass. Succeeds with the runs whose events it deleted, oldest first. */
    readonly sweep: Effect.Effect<ReadonlyArray<RunId>, StoreFailed>
  }
>()("corral/edge/Retention") {
  static readonly layer = Layer.effect(
    Retention,
    Effect.flatMap(EdgeConfig, ({ retention }) => make(retention))
  )

  /** A pass now and every hour. Place it above the services that register functions, so that they are registered by then. */
  static readonly hourly = Layer.effectDiscard(
    Effect.gen(function* () {
      const { sweep } = yield* Retention
      const pass = Effect.catchCause(sweep, (cause) => Effect.logError("failed to apply retention", cause))
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(pass, Effect.sleep("1 hour"))))
    })
  )
}

const DAY_MS = 86_400_000
/** Maximum number of characters of log per commit. */
const STEP = 262_144
const PAUSE = "5 millis"
/** Pages that one step frees, and free pages that stay for new data. */
const RELEASE = 64
const KEEP_FREE = 4_096

const make = Effect.fnUntraced(function* ({ days, maxMiB }: RetentionLimits) {
  const store = yield* Store
  const hooks: Array<DeleteRunData> = []
  const sweeps: Array<Effect.Effect<void>> = []

  const pragma = (name: "page_count" | "page_size" | "freelist_count" | "auto_vacuum"): number =>
    store.get<Record<typeof name, number>>(`PRAGMA ${name}`)?.[name] ?? 0
  const usedMiB = () => ((pragma("page_count") - pragma("freelist_count")) * pragma("page_size")) / 1_048_576

  /** The last seq that the next step deletes; `undefined` if no event is left. */
  const stepOf = (runId: RunId): number | undefined => {
    let size = 0
    let until: number | undefined
    for (const row of store.each<{ readonly last_seq: number; readonly size: number }>(nextRows, runId)) {
      size += row.size
      until = row.last_seq
      if (size >= STEP) break
    }
    return until
  }

  const drop = Effect.fn("Retention.drop")(function* (runId: RunId) {
    yield* store.commit(reservePositions(runId))
    for (let until = stepOf(runId); until !== undefined; until = stepOf(runId)) {
      yield* store.commit([["DELETE FROM events WHERE run_id = ? AND last_seq <= ?", runId, until]])
      yield* Effect.sleep(PAUSE)
    }
    for (const forget of hooks) yield* forget(runId)
    yield* store.commit([["UPDATE runs SET log = 'gone' WHERE id = ?", runId]])
  })

  const forget = Effect.fnUntraced(function* (runId: RunId) {
    yield* store.commit([["UPDATE runs SET log = 'going' WHERE id = ? AND ended_at IS NOT NULL", runId]])
    yield* drop(runId)
    return runId
  })

  /** The run that ended first, before `before`, with a stored log that no Hub still needs. */
  const oldest = (before: string) => store.get<{ readonly id: RunId }>(oldestEnded, before)?.id
  /** The same among all runs. */
  const oldestOfAll = () => store.get<{ readonly id: RunId }>(oldestOwed)?.id

  const release = Effect.gen(function* () {
    if (pragma("auto_vacuum") === 0) return
    while (pragma("freelist_count") > KEEP_FREE) {
      yield* store.commit([[`PRAGMA incremental_vacuum(${RELEASE})`]])
      yield* Effect.sleep(PAUSE)
    }
  })

  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const dropped: Array<RunId> = []
    for (const { id } of store.all<{ readonly id: RunId }>("SELECT id FROM runs WHERE log = 'going'")) {
      yield* drop(id)
      dropped.push(id)
    }
    const before = new Date(now - days * DAY_MS).toISOString()
    for (let id = days > 0 ? oldest(before) : undefined; id !== undefined; id = oldest(before)) {
      dropped.push(yield* forget(id))
    }
    const nextToDelete = () =>
      maxMiB > 0 && usedMiB() > maxMiB ? (oldest(NEVER) ?? oldestOfAll()) : undefined
    for (let id = nextToDelete(); id !== undefined; id = nextToDelete()) dropped.push(yield* forget(id))
    yield* deleteExpiredResults(store, now)
    yield* release
    for (const also of sweeps) yield* also
    return dropped
  })

  return Retention.of({
    onForget: (forget) => void hooks.push(forget),
    onSweep: (also) => void sweeps.push(also),
    sweep
  })
})

/** A time after every stored time. */
const NEVER = "~"

const oldestEnded =
  "SELECT id FROM runs WHERE log = 'kept' AND ended_at < ? AND id NOT IN (SELECT run_id FROM hub_runs WHERE done = 0) ORDER BY ended_at LIMIT 1"
const oldestOwed = "SELECT id FROM runs WHERE log = 'kept' AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1"
const nextRows =
  "SELECT last_seq, octet_length(lines) AS size FROM events WHERE run_id = ? ORDER BY last_seq LIMIT 500"
