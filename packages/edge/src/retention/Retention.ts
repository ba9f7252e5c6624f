/**
 * Retention: deletes the events of runs that ended long ago, and of the oldest runs if the store is too large. What is old, the clock of the
 * machine says only if it may: a clock that is wrong at one start would delete a history for good.
 *
 * Guarantees: a log is deleted whole. It is marked first, which hides it from every reader, and then deleted in small commits with pauses between
 * them. The run's row, its approvals and its questions stay. A live run is never touched. A run that a Hub has not received completely is deleted
 * only if nothing else can make the store small enough. If the Edge dies in between, the next pass continues. Age counts only by a clock that is
 * trusted (`TrustedClock`), the size regardless of it; runs go in the order in which their last events were stored.
 *
 * One reading of the clock decides nothing. It is trusted after two readings an hour apart by a clock that only runs forward, or if it agrees with
 * the reading of an earlier start: the time between the two is at most that since the boot, and a day.
 * Does not: know the right time. A clock that stays wrong for an hour is trusted.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { uptime } from "node:os"
import { join } from "node:path"
import { EdgeConfig, type RetentionLimits } from "../config/EdgeConfig.ts"
import { deleteExpiredResults } from "../log/EdgeIdempotency.ts"
import { reservePositions } from "../log/StoredEvents.ts"
import { Store, type StoreFailed } from "../store/Store.ts"

const HOUR_MS = 3_600_000

/** A reading of both clocks. */
export interface ClockPair {
  /** Unix time in milliseconds. An operator or a server of the time may change it. */
  readonly wall: number
  /** Milliseconds since the boot. */
  readonly sinceBoot: number
  /** The boot; `undefined` where the system does not name it. */
  readonly boot: string | undefined
}

const Stored = Schema.Struct({
  wall: Schema.Number,
  sinceBoot: Schema.Number,
  boot: Schema.optional(Schema.String)
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))

/** The boot and the time since it. */
export const BootClock = Context.Reference<() => Omit<ClockPair, "wall">>("corral/edge/BootClock", {
  defaultValue: () => () => ({ sinceBoot: uptime() * 1_000, boot: bootId })
})

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8").trim()
  } catch {
    return undefined
  }
}

const bootId = readText("/proc/sys/kernel/random/boot_id")

/** Whether the time between two readings can have passed. After another boot, no more is known than that the machine was off in between. */
export const agrees = (earlier: ClockPair, later: ClockPair): boolean => {
  const elapsed = later.wall - earlier.wall
  if (earlier.boot === undefined || earlier.boot !== later.boot)
    return elapsed > -DAY_MS && elapsed < later.sinceBoot + DAY_MS
  const passed = later.sinceBoot - earlier.sinceBoot
  return passed >= 0 && Math.abs(elapsed - passed) < DAY_MS
}

/** Reads the clocks of this process, which started with `first`. `stored`: the last reading of an earlier process. */
export class TrustedClock {
  readonly #file: string
  readonly #first: ClockPair
  readonly #stored: ClockPair | undefined

  /** Reads what the last start has stored in the home, and stores the reading of this one. */
  constructor(home: string, first: ClockPair) {
    this.#file = join(home, "clock.json")
    this.#first = first
    const stored = Option.getOrUndefined(decode(readText(this.#file) ?? ""))
    this.#stored = stored === undefined ? undefined : { ...stored, boot: stored.boot }
    this.#store(first)
  }

  /** Whether the clock may decide now. Stores the reading for the next start. */
  isTrusted(now: ClockPair): boolean {
    this.#store(now)
    const isProven = now.sinceBoot - this.#first.sinceBoot >= HOUR_MS && agrees(this.#first, now)
    return isProven || (this.#stored !== undefined && agrees(this.#stored, now))
  }

  /** Without a stored reading, the next start waits for an hour. */
  #store(reading: ClockPair): void {
    try {
      writeFileSync(`${this.#file}.new`, `${JSON.stringify(reading)}\n`, { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    } catch {
      return
    }
  }
}

/** Deletes what a service stores for a run. May be called again for the same run, after a crash or a failure. */
type DeleteRunData = (runId: RunId) => Effect.Effect<void, StoreFailed>

export class Retention extends Context.Service<
  Retention,
  {
    /** Registers a function that runs for each run whose events were deleted. */
    readonly onForget: (forget: DeleteRunData) => void
    /** Registers what runs at the end of each pass. `byAge`: only if the clock is trusted. */
    readonly onSweep: (also: Effect.Effect<void>, byAge?: boolean) => void
    /** One pass. Succeeds with the runs whose events it deleted, oldest first. */
    readonly sweep: Effect.Effect<ReadonlyArray<RunId>, StoreFailed>
  }
>()("corral/edge/Retention") {
  static readonly layer = Layer.effect(
    Retention,
    Effect.flatMap(EdgeConfig, ({ home, retention }) => make(home, retention))
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

const make = Effect.fnUntraced(function* (home: string, { days, maxMiB }: RetentionLimits) {
  const store = yield* Store
  const boot = yield* BootClock
  const readClocks = Effect.map(Clock.currentTimeMillis, (wall): ClockPair => ({ wall, ...boot() }))
  const clock = new TrustedClock(home, yield* readClocks)
  const hooks: Array<DeleteRunData> = []
  const sweeps: Array<{ readonly also: Effect.Effect<void>; readonly byAge: boolean }> = []

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

  const release = Effect.gen(function* () {
    if (pragma("auto_vacuum") === 0) return
    while (pragma("freelist_count") > KEEP_FREE) {
      yield* store.commit([[`PRAGMA incremental_vacuum(${RELEASE})`]])
      yield* Effect.sleep(PAUSE)
    }
  })

  const sweep = Effect.gen(function* () {
    const reading = yield* readClocks
    const isTrusted = clock.isTrusted(reading)
    const dropped: Array<RunId> = []
    for (const { id } of store.all<{ readonly id: RunId }>("SELECT id FROM runs WHERE log = 'going'")) {
      yield* drop(id)
      dropped.push(id)
    }
    const ended = store.all<EndedRun>(endedRuns)
    const old = days > 0 && isTrusted ? endedBefore(ended, reading.wall, days) : []
    for (const { id } of old) dropped.push(yield* forget(id))
    const forgotten = new Set(dropped)
    for (const { id } of ended.toSorted((a, b) => a.isOwed - b.isOwed)) {
      if (maxMiB === 0 || usedMiB() <= maxMiB) break
      if (!forgotten.has(id)) dropped.push(yield* forget(id))
    }
    if (isTrusted) yield* deleteExpiredResults(store, reading.wall)
    yield* release
    for (const { also, byAge } of sweeps) if (isTrusted || !byAge) yield* also
    return dropped
  })

  return Retention.of({
    onForget: (forget) => void hooks.push(forget),
    onSweep: (also, byAge = false) => void sweeps.push({ also, byAge }),
    sweep
  })
})

interface EndedRun {
  readonly id: RunId
  /** ISO 8601, by the clock of that time. */
  readonly endedAt: string
  /** 1 if a Hub still needs its log. */
  readonly isOwed: 0 | 1
}

/**
 * Runs that ended that many days ago, in the order of their ends. A run did not end before one that was stored earlier: the clock was slow then. A
 * time in the future says nothing.
 */
const endedBefore = (ended: ReadonlyArray<EndedRun>, now: number, days: number): ReadonlyArray<EndedRun> => {
  const [today, before] = [new Date(now).toISOString(), new Date(now - days * DAY_MS).toISOString()]
  let latest = ""
  return ended.filter(({ endedAt, isOwed }) => {
    if (endedAt <= today && endedAt > latest) latest = endedAt
    return isOwed === 0 && endedAt < before && latest < before
  })
}

/** In the order in which their last events were stored. */
const endedRuns =
  "SELECT id, ended_at AS endedAt, EXISTS (SELECT 1 FROM hub_runs WHERE run_id = runs.id AND done = 0) AS isOwed FROM runs " +
  "WHERE log = 'kept' AND ended_at IS NOT NULL " +
  "ORDER BY (SELECT batch FROM events WHERE run_id = runs.id ORDER BY last_seq DESC LIMIT 1), ended_at"
const nextRows =
  "SELECT last_seq, octet_length(lines) AS size FROM events WHERE run_id = ? ORDER BY last_seq LIMIT 500"
