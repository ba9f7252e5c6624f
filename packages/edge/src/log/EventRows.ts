/** Rows of the table `events`, and what makes a row sound: its shape, its checksum, its place in its run. */
import { eventIds, type RunId } from "@corral/domain/identity/Ids"
import { crc32 } from "node:zlib"
import type { Write } from "../store/Store.ts"
import type { StoredBatch } from "./StoredBatch.ts"

export interface EventRow {
  readonly batch: number
  readonly run_id: RunId
  readonly first_seq: number
  readonly last_seq: number
  readonly lines: string
  readonly checksum: number | null
}

export const eventColumns = "batch, run_id, first_seq, last_seq, lines, checksum"

/** Condition of rows that contain events. */
export const isEvents = "run_id <> ''"

/**
 * Writes before the rows of a run are deleted: if its last row is the newest of all, an empty row takes the next position. SQLite would use
 * the positions of deleted newest rows again, and readers that continue after one would miss events.
 */
export const reservePositions = (runId: RunId): ReadonlyArray<Write> => [
  ["DELETE FROM events WHERE run_id = '' AND batch < (SELECT max(batch) FROM events)"],
  [
    "INSERT INTO events (run_id, first_seq, last_seq, lines) SELECT '', 0, 0, '' FROM events WHERE batch = (SELECT max(batch) FROM events) AND run_id = ?",
    runId
  ]
]

const insertBatch =
  "INSERT INTO events (run_id, first_seq, last_seq, lines, checksum, outputs) VALUES (?, ?, ?, ?, ?, ?)"

/** Inserts a batch with its checksum. `outputs`: as in `NewEvents`. */
export const insertBatchRow = (
  { firstSeq, lastSeq, lines, runId }: StoredBatch,
  bytes: Buffer,
  outputs: number | undefined
): Write => [
  insertBatch,
  runId,
  firstSeq,
  lastSeq,
  lines,
  checksumOf(firstSeq, lastSeq, bytes),
  outputs ?? null
]

/** The batch of a row; `undefined` if the row is damaged. Batches before `checkedFrom` were stored without a checksum. */
export const intactBatch = (row: EventRow, checkedFrom: number): StoredBatch | undefined => {
  if (!hasShape(row)) return undefined
  const { batch, checksum, first_seq: firstSeq, last_seq: lastSeq, lines } = row
  if (checksum === null && batch < checkedFrom) return isLog(row) ? fromRow(row) : undefined
  const bytes = Buffer.from(lines)
  const isSound = checksum === checksumOf(firstSeq, lastSeq, bytes) && isAtItsPlace(row)
  return isSound ? { ...fromRow(row), bytes } : undefined
}

/** CRC-32 of a batch and of its length. On the path of every event: bytes cost half of what a string costs. */
const checksumOf = (firstSeq: number, lastSeq: number, bytes: Buffer): number =>
  crc32(bytes, lastSeq - firstSeq)

/** A damaged page may give values of any type. */
const hasShape = ({ first_seq: firstSeq, last_seq: lastSeq, lines, run_id: runId }: EventRow): boolean =>
  typeof lines === "string" &&
  typeof runId === "string" &&
  Number.isSafeInteger(firstSeq) &&
  Number.isSafeInteger(lastSeq) &&
  lastSeq >= firstSeq &&
  lastSeq - firstSeq <= MAX_BATCH

const MAX_BATCH = 0xffff_ffff

/** The id of an event derives from its run and seq: a row of another run, or at another position, begins with another id. */
const isAtItsPlace = ({ first_seq: firstSeq, lines, run_id: runId }: EventRow): boolean =>
  lines.startsWith(`{"id":"${eventIds(runId)(firstSeq)}"`)

/** Check of a batch without a checksum: the number of its events, and JSON with the right seq in each. */
const isLog = ({ first_seq: firstSeq, last_seq: lastSeq, lines }: EventRow): boolean => {
  const stored = lines.split("\n")
  return stored.length === lastSeq - firstSeq + 1 && stored.every((line, i) => seqIn(line) === firstSeq + i)
}

const seqIn = (line: string): number | undefined => {
  try {
    return (JSON.parse(line) as { readonly seq?: number } | null)?.seq
  } catch {
    return undefined
  }
}

/** The type is at a fixed place of the line, before anything that a runtime wrote. */
const isTerminalLine = (line: string): boolean =>
  /^\{"id":"[^"]*","seq":\d+,"type":"run\.(completed|failed|cancelled)"/.test(line)

const fromRow = (row: EventRow): StoredBatch => ({
  batch: row.batch,
  runId: row.run_id,
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  lines: row.lines,
  terminal: isTerminalLine(
    row.lines.slice(row.lines.lastIndexOf("\n") + 1, row.lines.lastIndexOf("\n") + 200)
  )
})
