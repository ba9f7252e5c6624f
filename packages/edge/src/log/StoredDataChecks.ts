/**
 * Checks of everything that a store keeps: events by their checksums, the ends of logs, and documents.
 *
 * Guarantees: each check yields after a slice of about a millisecond. Damage is reported to the store. A row that cannot be read ends its
 * check with `StoreDamaged`, because later rows cannot be reached. Does not repair anything.
 */
import { StoreDamaged } from "../store/StoreDamage.ts"
import { StoredEvents, type ReadableStore } from "./StoredEvents.ts"

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
  ["worktrees", "run_id", "worktree", "worktree"]
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
