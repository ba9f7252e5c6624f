/**
 * Damage of the store: stored data that differs from the written data.
 *
 * Guarantees: damaged data is refused, never served. Does not repair anything.
 */
import Database from "better-sqlite3"
import { Data } from "effect"

/** Thrown by reads. The message names the data, never its content. */
export class StoreDamaged extends Data.TaggedError("StoreDamaged")<{ readonly message: string }> {}

export const RESTORE_HINT =
  "Check the disk. Stop the Edge, then restore edge.db from a backup, or move it and edge.token away to start with an empty store."

/** Whether an SQLite code reports a damaged or unreadable file. */
export const isDamageCode = (code: string | undefined): boolean =>
  code !== undefined && /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/.test(code)

export const isDamage = (error: unknown): error is InstanceType<typeof Database.SqliteError> =>
  error instanceof Database.SqliteError && isDamageCode(error.code)

/** What a refusal says of damage. `overloaded` is the error table's code for a store that cannot be used. */
export const damageOptions = ({ message }: StoreDamaged) => ({
  message: `${message} ${RESTORE_HINT}`,
  details: { reason: "store_damaged" }
})

/** A stored JSON value. */
export const parseStored = <A>(text: string, what: string): A => {
  try {
    // Rows are written by this program from values of that type.
    return JSON.parse(text) as A
  } catch {
    throw new StoreDamaged({ message: `A stored ${what} is damaged.` })
  }
}
