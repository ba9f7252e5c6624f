/**
 * Damage of the store: stored data that differs from the written data, and changes that SQLite had written to its write-ahead log and that are no
 * longer there. SQLite itself takes a log that was cut or removed for one without them. A process that was killed leaves the index of the log,
 * which says what the log had. Also the reads of one SQLite connection, which report the damage that they find.
 *
 * Guarantees: damaged data is refused, never served. The log is read before the store is opened, at most 64 MiB. An index that is itself damaged
 * proves nothing. Does not repair anything.
 */
import Database from "better-sqlite3"
import { Data } from "effect"
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { preparedStatements } from "./JobTransaction.ts"

/** Thrown by reads. The message names the data, never its content. */
export class StoreDamaged extends Data.TaggedError("StoreDamaged")<{ readonly message: string }> {}

export const RESTORE_HINT =
  "Check the disk. Stop the Edge, then restore edge.db from a backup, or move it and edge.token away to start with an empty store."

export const LOST_HINT =
  "Runs and decisions of the time before are missing. Check the disk, and what removed the file. Restore a backup if you need them, or restart the Edge to continue without them."

/** Whether an SQLite code reports a damaged or unreadable file. */
export const isDamageCode = (code: string | undefined): boolean =>
  code !== undefined && /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA))/.test(code)

/** An error of the library, which declares the type of the class only. */
type SqliteFailure = Error & { readonly code: string }

/** SQLite has no code for a document that is not JSON, and none for a table whose definition was altered. */
const isAltered = ({ code, message }: SqliteFailure): boolean =>
  code === "SQLITE_ERROR" && /^(malformed JSON|no such (table|column))/.test(message)

const isDamage = (error: unknown): error is SqliteFailure =>
  error instanceof Database.SqliteError && (isDamageCode(error.code) || isAltered(error))

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

const MAX_LOG = 67_108_864
const LOG_HEADER = 32
const FRAME_HEADER = 24
const INDEX_HEADER = 48
/** Of the index: what follows its two headers. */
const CHECKPOINT = 96
const LITTLE_ENDIAN_LOG = 0x377f0682

/** The first bytes of a file; `undefined` if it does not exist. */
const bytesOf = (file: string, max: number): Buffer | undefined => {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const fd = openSync(file, "r")
  try {
    const bytes = Buffer.alloc(Math.min(max, fstatSync(fd).size))
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

interface LogIndex {
  /** Number of frames in the log, and how many of them the store's file has. */
  readonly frames: number
  readonly stored: number
  /** As in the log. */
  readonly salts: Buffer
  readonly checksums: readonly [number, number]
}

const indexOf = (bytes: Buffer | undefined): LogIndex | undefined => {
  if (bytes === undefined || bytes.length < CHECKPOINT + 4 || bytes[12] !== 1) return undefined
  const [first, second] = [bytes.subarray(0, INDEX_HEADER), bytes.subarray(INDEX_HEADER, 2 * INDEX_HEADER)]
  if (!first.equals(second)) return undefined
  return {
    frames: bytes.readUInt32LE(16),
    stored: bytes.readUInt32LE(CHECKPOINT),
    salts: bytes.subarray(32, 40),
    checksums: [bytes.readUInt32LE(24), bytes.readUInt32LE(28)]
  }
}

/** The sum of SQLite over pairs of words. */
const checksum = (
  bytes: Buffer,
  [first, second]: readonly [number, number],
  isLittle: boolean
): readonly [number, number] => {
  let [a, b] = [first, second]
  for (let at = 0; at + 8 <= bytes.length; at += 8) {
    const [x, y] = isLittle
      ? [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)]
      : [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)]
    a = (a + x + b) >>> 0
    b = (b + y + a) >>> 0
  }
  return [a, b]
}

/** Whether the log has all frames of the index, each as it was written. */
const hasFrames = (log: Buffer, { checksums, frames, salts }: LogIndex): boolean => {
  const isLittle = log.readUInt32BE(0) === LITTLE_ENDIAN_LOG
  const size = FRAME_HEADER + log.readUInt32BE(8)
  if (log.length < LOG_HEADER + frames * size) return LOG_HEADER + frames * size > MAX_LOG
  let sums: readonly [number, number] = [log.readUInt32BE(24), log.readUInt32BE(28)]
  for (let frame = 0; frame < frames; frame++) {
    const bytes = log.subarray(LOG_HEADER + frame * size, LOG_HEADER + (frame + 1) * size)
    if (!bytes.subarray(8, 16).equals(salts)) return false
    sums = checksum(bytes.subarray(0, 8), sums, isLittle)
    sums = checksum(bytes.subarray(FRAME_HEADER), sums, isLittle)
    if (bytes.readUInt32BE(16) !== sums[0] || bytes.readUInt32BE(20) !== sums[1]) return false
  }
  return sums[0] === checksums[0] && sums[1] === checksums[1]
}

/** A log that was begun after the index was written has a higher number. After a loss of power, the index may be older. */
const isNewer = (log: Buffer, salts: Buffer): boolean => {
  const difference = (log.readUInt32BE(16) - salts.readUInt32BE(0)) >>> 0
  return difference > 0 && difference < 2 ** 31
}

/** What is lost, as a sentence; `undefined` if nothing is known to be lost. `file`: the store, which no process has open. */
export const lostChanges = (file: string): string | undefined => {
  const index = indexOf(bytesOf(`${file}-shm`, CHECKPOINT + 4))
  if (index === undefined || index.stored >= index.frames) return undefined
  const log = bytesOf(`${file}-wal`, MAX_LOG)
  if (log === undefined || log.length < LOG_HEADER)
    return `The last changes of the store are lost: ${file}-wal was ${log === undefined ? "removed" : "cut"}.`
  if (isNewer(log, index.salts)) return undefined
  return log.subarray(16, 24).equals(index.salts) && hasFrames(log, index)
    ? undefined
    : `The last changes of the store are lost: ${file}-wal was cut or changed.`
}

export const storeReader = (db: Database.Database, report: (damage: StoreDamaged) => void) => {
  const statement = preparedStatements(db)
  const guarded = <A>(read: () => A): A => {
    try {
      return read()
    } catch (error) {
      if (!isDamage(error)) throw error
      const damage = new StoreDamaged({ message: unreadable(error.message) })
      report(damage)
      throw damage
    }
  }
  function* rowsOf<Row>(sql: string, params: ReadonlyArray<string | number>): Iterable<Row> {
    const rows = guarded(() => statement(sql).iterate(...params) as IterableIterator<Row>)
    try {
      for (let next = guarded(() => rows.next()); next.done !== true; next = guarded(() => rows.next()))
        yield next.value
    } finally {
      rows.return?.()
    }
  }
  return {
    all: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      guarded(() => statement(sql).all(...params) as ReadonlyArray<Row>),
    get: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      guarded(() => statement(sql).get(...params) as Row | undefined),
    each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => rowsOf<Row>(sql, params)
  }
}
