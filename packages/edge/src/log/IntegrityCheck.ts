/**
 * Integrity check of the store: the newest events at the start, everything in the background, and again every day.
 *
 * Works in slices of a few milliseconds on the reading connection, so that neither the writer nor requests wait for it. Reports damage
 * to the store. Does not repair anything.
 */
import { Effect, Layer } from "effect"
import { EdgeEventLog } from "./EdgeEventLog.ts"
import { Store } from "../store/Store.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

/** Budget of the check at the start. */
const START_BATCHES = 64
const START_BUDGET = 1_048_576
/** Characters of log per slice: about a millisecond of reading. */
const SLICE = 262_144
const ROWS = 200
const PAUSE = "20 millis"

/** Tables of JSON documents, by their keys. */
const documents = [
  ["runs", "id", "snapshot", "run"],
  ["approvals", "id", "approval", "approval"],
  ["artifacts", "id", "artifact", "artifact"],
  ["grants", "id", "body", "grant"],
  ["worktrees", "run_id", "worktree", "worktree"]
] as const

interface DocumentRow {
  readonly key: string
  readonly valid: number
}

const make = Effect.gen(function* () {
  const log = yield* EdgeEventLog
  const store = yield* Store

  /** Runs slices in order. Damage ends the check of its table, because later rows cannot be reached. */
  const inSlices = <Position>(first: Position, slice: (after: Position) => Position | undefined) =>
    Effect.gen(function* () {
      for (let at: Position | undefined = first; at !== undefined; at = slice(at)) yield* Effect.sleep(PAUSE)
    }).pipe(
      Effect.catchDefect((defect) => (defect instanceof StoreDamaged ? Effect.void : Effect.die(defect)))
    )

  const events = inSlices(0, (after) => log.verify(after, SLICE))

  const documentsOf = ([table, key, column, what]: (typeof documents)[number]) => {
    const select = `SELECT ${key} AS key, json_valid(${column}) AS valid FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${ROWS}`
    return inSlices("", (after) => {
      const rows = store.all<DocumentRow>(select, after)
      if (rows.some(({ valid }) => valid !== 1))
        store.reportDamage(new StoreDamaged({ message: `A stored ${what} is damaged.` }))
      return rows.length < ROWS ? undefined : rows.at(-1)?.key
    })
  }

  /** Finds logs that are shorter than their run's row says. */
  const ends = inSlices("", (after) => {
    const rows = store.all<{ readonly key: string; readonly valid: number }>(selectEnds, after)
    const short = rows.find(({ valid }) => valid !== 1)
    if (short !== undefined)
      store.reportDamage(new StoreDamaged({ message: `The stored events of ${short.key} are damaged.` }))
    return rows.length < ROWS ? undefined : rows.at(-1)?.key
  })

  // A crash or a full disk damages the newest events first.
  yield* Effect.sync(() => {
    const newest = store.get<{ readonly batch: number | null }>("SELECT max(batch) AS batch FROM events")
    log.verify(Math.max((newest?.batch ?? 0) - START_BATCHES, 0), START_BUDGET)
  }).pipe(Effect.catchDefect((defect) => (defect instanceof StoreDamaged ? Effect.void : Effect.die(defect))))

  const whole = Effect.all([events, ends, ...documents.map(documentsOf)], { discard: true })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(whole, Effect.sleep("1 day"))))
})

const selectEnds = `SELECT id AS key, last_seq <= coalesce((SELECT max(last_seq) FROM events WHERE run_id = runs.id), 0) AS valid
  FROM runs WHERE log = 'kept' AND id > ? ORDER BY id LIMIT ${ROWS}`

export const integrityCheckLayer = Layer.effectDiscard(make)
