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

export const LOST_HINT =
  "Runs and decisions of the time before are missing. Check the disk, and what removed the file. Restore a backup if you need them, or restart the Edge to continue without them."

/** Whether an SQLite code reports a damaged or unreadable file. */
export const isDamageCode = (code: string | undefined): boolean =>
  code !== undefined && /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/.test(code)

export const isDamage = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Database.SqliteError && isDamageCode(error.code)

export const unreadable = (message: string): string => `The store cannot be read: ${message}.`

/** Refusal because of damage. `overloaded` is the error table's code for an unusable store. */
export const damageOptions = ({ message }: StoreDamaged) => ({
  message: `${message} ${RESTORE_HINT}`,
  details: { reason: "store_damaged" }
})

/** A stored JSON value, whose shape is not checked: the event path reads it. */
export const parseStored = <A>(text: string, what: string): A => {
  try {
    // This program wrote the row from a value of this type.
    return JSON.parse(text) as A
  } catch {
    throw new StoreDamaged({ message: `A stored ${what} is damaged.` })
  }
}
