/**
 * Examination of a store: of one that no Edge has open, for a user whose Edge does not start, and of that of a running Edge, with the same checks
 * of events, logs and documents.
 *
 * A running Edge checks the newest events at the start, everything in the background, and again every day. It works in slices of a few milliseconds
 * on the reading connection, so that neither the writer nor requests wait for it, and reports damage to the store. Does not repair anything.
 */
import { fileReason } from "../store/FileReason.ts"
import { missingTable, newerStore, NEWEST_VERSION } from "../store/migrations.ts"
import { folderAsStore, lostStore, Store } from "../store/Store.ts"
import { RESTORE_HINT, StoreDamaged, storeReader } from "../store/StoreDamage.ts"
import { EdgeEventLog } from "./EdgeEventLog.ts"
import { type ReadableStore, StoredEvents } from "./StoredEvents.ts"
import Database from "better-sqlite3"
import { Effect, Layer } from "effect"
import { existsSync, type Stats, statSync } from "node:fs"
import { join } from "node:path"

// Checks of everything that a store keeps: events by their checksums, the ends of logs, and documents.
//
// Guarantees: each check yields after a slice of about a millisecond. Damage is reported to the store. A row that cannot be read ends its
// check with `StoreDamaged`, because later rows cannot be reached. Does not repair anything.

/** Characters of log per slice. */
const SLICE = 262_144
const ROWS = 200

/** Tables of JSON documents, by their keys. */
const documents = [
  ["runs", "id", "snapshot", "run"],
  ["approvals", "id", "approval", "approval"],
  ["inputs", "id", "input", "question"],
  ["artifacts", "id", "artifact", "artifact"],
  ["grants", "id", "body", "grant"],
  ["worktrees", "run_id", "worktree", "worktree"],
  ["layers", "owner", "layer", "layer"]
] as const

interface CheckedRow {
  readonly key: string
  readonly valid: number
}

export type StoredDataCheck = () => Iterable<void>

const eventsCheck = (store: ReadableStore): StoredDataCheck =>
  function* () {
    const events = new StoredEvents(store)
    for (let after: number | undefined = 0; after !== undefined; after = events.verify(after, SLICE)) yield
  }

/** Reads rows of `select` by their keys, and reports those that are not valid. */
const rowsCheck = (
  store: ReadableStore,
  select: string,
  messageFor: (key: string) => string
): StoredDataCheck =>
  function* () {
    for (let after: string | undefined = ""; after !== undefined;) {
      yield
      const rows: ReadonlyArray<CheckedRow> = [...store.each<CheckedRow>(select, after)]
      const damaged = rows.find(({ valid }) => valid !== 1)
      if (damaged !== undefined) store.reportDamage(new StoreDamaged({ message: messageFor(damaged.key) }))
      after = rows.length < ROWS ? undefined : rows.at(-1)?.key
    }
  }

const selectDocuments = ([table, key, column]: (typeof documents)[number]): string =>
  `SELECT ${key} AS key, json_valid(${column}) AS valid FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${ROWS}`

/** Finds logs that are shorter than their run's row says. */
const selectEnds = `SELECT id AS key, last_seq <= coalesce((SELECT max(last_seq) FROM events WHERE run_id = runs.id), 0) AS valid
  FROM runs WHERE log NOT IN ('going', 'gone') AND id > ? ORDER BY id LIMIT ${ROWS}`

export const storedDataChecks = (store: ReadableStore): ReadonlyArray<StoredDataCheck> => [
  eventsCheck(store),
  rowsCheck(store, selectEnds, (runId) => `The stored events of ${runId} are damaged.`),
  ...documents.map((document) =>
    rowsCheck(store, selectDocuments(document), () => `A stored ${document[3]} is damaged.`)
  )
]

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** The first damage in what a store of the newest version keeps. */
const damageIn = (db: Database.Database): StoreDamaged | undefined => {
  let damage: StoreDamaged | undefined
  const reportDamage = (found: StoreDamaged): void => {
    damage ??= found
  }
  for (const check of storedDataChecks({ ...storeReader(db, reportDamage), reportDamage })) {
    try {
      for (const _ of check()) if (damage !== undefined) return damage
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
    }
    if (damage !== undefined) return damage
  }
  return undefined
}

/** Reads every page and every row of a home's store. Returns a sentence if the store is missing, damaged or of a newer version. */
export const examineStore = (home: string): string | undefined => {
  const file = join(home, "edge.db")
  const token = join(home, "edge.token")
  let stat: Stats | undefined
  try {
    stat = statSync(file)
  } catch (cause) {
    if (!isMissing(cause)) return `${file} cannot be read: ${fileReason(cause)}.`
  }
  if (stat?.isDirectory() === true) return folderAsStore(file)
  if ((stat?.size ?? 0) === 0) return existsSync(token) ? lostStore(file, token) : undefined
  try {
    const db = new Database(file, { readonly: true })
    try {
      // Also the indexes: a reader finds rows by them.
      const found = db.pragma("integrity_check(1)", { simple: true })
      if (found !== "ok") return `${file} is damaged. ${RESTORE_HINT}`
      const version = Number(db.pragma("user_version", { simple: true }))
      if (version === 0)
        return existsSync(token) ? `${file} has no tables of Corral. ${RESTORE_HINT}` : undefined
      if (version > NEWEST_VERSION) return `${file}: ${newerStore(version)}.`
      const missing = missingTable(db, version)
      if (missing !== undefined) return `${file} is damaged: ${missing}. ${RESTORE_HINT}`
      // Migrated at the next start, after which it can be read.
      if (version < NEWEST_VERSION) return undefined
      const damage = damageIn(db)
      return damage === undefined ? undefined : `${damage.message} ${RESTORE_HINT}`
    } finally {
      db.close()
    }
  } catch (error) {
    return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}. ${RESTORE_HINT}`
  }
}

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

/** Integrity check of the store: the newest events at the start, everything in the background, and again every day. */
export const integrityCheckLayer = Layer.effectDiscard(make)
