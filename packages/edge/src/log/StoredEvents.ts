/**
 * Events of a run in the order of their `seq`: new ones, batches as they are stored, and the encoder of the JSON text that is stored, replayed and
 * sent. Also their reader, and what makes a row of theirs sound: its shape, its checksum, its place in its run.
 *
 * Guarantees: every batch is verified before it is returned. Damage is reported to the store.
 */
import { eventIds, type RunId } from "@corral/domain/identity/Ids"
import { type EventDraft, type EventStamp, PAYLOAD_VERSION } from "@corral/domain/run/RunEvent"
import { crc32 } from "node:zlib"
import type { Store, Write } from "../store/Store.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"

/** Events to append, as JSON lines without a final newline. They are one text, so that the single lines do not live until the commit. */
export interface NewEvents {
  readonly runId: RunId
  readonly firstSeq: number
  readonly count: number
  readonly lines: string
  readonly terminal: boolean
  /** Outputs of the runtime that the run has applied with these events; only of a run that outlives its Edge. */
  readonly outputs?: number | undefined
}

/** Events of one append, as JSON lines without a final newline. All readers that are up to date share the object. */
export interface StoredBatch {
  /** Position among the batches of all runs. 0 on a batch that was just appended. */
  readonly batch: number
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  readonly lines: string
  /** The lines in UTF-8, if they were encoded for the checksum. Frames contain them. */
  readonly bytes?: Buffer
  /** Whether the batch has the last event of its run. */
  readonly terminal: boolean
}

/** The part of a batch after the event `after`. */
const cutBefore = (
  { batch, firstSeq, lastSeq, lines, runId, terminal }: StoredBatch,
  after: number
): StoredBatch => ({
  batch,
  runId,
  firstSeq: after + 1,
  lastSeq,
  lines: lines
    .split("\n")
    .slice(after + 1 - firstSeq)
    .join("\n"),
  terminal
})

/** An encoder for one run: the parts that are the same for all its events, or for the events of a batch, are encoded once. */
export const makeEventEncoder = (
  stamp: EventStamp
): ((seq: number, createdAt: string, event: EventDraft) => string) => {
  const id = eventIds(stamp.runId)
  const middleOf = cachedMiddle(stamp)
  return (seq, createdAt, event) => {
    const payload = JSON.stringify(event.payload)
    const fields = payload === "{}" ? "}" : `,${payload.slice(1)}`
    return `{"id":"${id(seq)}","seq":${seq}${middleOf(event.type, createdAt)}${fields}}`
  }
}

/** What stands between the `seq` and the first field of the payload. Kept for the next event, which usually has the same type and time. */
const cachedMiddle = ({ agentId, runId, sessionId }: EventStamp) => {
  const session = sessionId === undefined ? "" : `,"sessionId":${JSON.stringify(sessionId)}`
  const agent = agentId === undefined ? "" : `,"agentId":${JSON.stringify(agentId)}`
  const stamped = `,"runId":"${runId}"${session}${agent},"createdAt":"`
  let last = { type: "", createdAt: "", middle: "" }
  return (type: string, createdAt: string): string => {
    if (last.type === type && last.createdAt === createdAt) return last.middle
    const middle = `,"type":"${type}"${stamped}${createdAt}","payload":{"v":${PAYLOAD_VERSION}`
    last = { type, createdAt, middle: flat(middle) }
    return last.middle
  }
}

/** The same text in one piece. Node keeps a concatenation as its parts until a character is read, and copies each part with every event. */
const flat = (text: string): string => {
  text.charCodeAt(0)
  return text
}

interface EventRow {
  readonly batch: number
  readonly run_id: RunId
  readonly first_seq: number
  readonly last_seq: number
  readonly lines: string
  readonly checksum: number | null
}

const eventColumns = "batch, run_id, first_seq, last_seq, lines, checksum"

/** Condition of rows that contain events. */
const isEvents = "run_id <> ''"

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
const intactBatch = (row: EventRow, checkedFrom: number): StoredBatch | undefined => {
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

/** What reading stored events needs of a store. */
export type ReadableStore = Pick<Store["Service"], "each" | "get" | "reportDamage">

export class StoredEvents {
  readonly #store: ReadableStore
  readonly #checkedFrom: number

  constructor(store: ReadableStore) {
    this.#store = store
    this.#checkedFrom = store.get<{ readonly first_batch: number }>(selectChecked)?.first_batch ?? 1
  }

  /** Batches with events after `after`, oldest first. Throws `StoreDamaged` if the next event is damaged. */
  read(runId: RunId, after: number, budget: number): ReadonlyArray<StoredBatch> {
    let { batches, isBroken } = this.#page(runId, after, budget)
    if (batches.length === 0 && !isBroken) {
      if (after >= this.#storedSeq(runId)) return []
      // Events are missing, or were committed between the two queries. A second read distinguishes the two, because a batch and its run's row are one commit.
      ;({ batches, isBroken } = this.#page(runId, after, budget))
      isBroken ||= batches.length === 0
    }
    const [first, ...rest] = batches
    if (first !== undefined) return first.firstSeq <= after ? [cutBefore(first, after), ...rest] : batches
    if (isBroken && !this.isForgotten(runId)) throw this.#reportDamage(runId)
    return []
  }

  /** Batches of all runs after that position. Forgotten runs and damaged batches are left out. */
  readAll(afterBatch: number, budget: number): ReadonlyArray<StoredBatch> {
    const batches: Array<StoredBatch> = []
    let size = 0
    for (const row of this.#store.each<EventRow>(selectAll, afterBatch)) {
      const batch = intactBatch(row, this.#checkedFrom)
      if (batch === undefined) {
        this.#reportDamage("a run")
        continue
      }
      batches.push(batch)
      size += row.lines.length
      if (size >= budget) break
    }
    return batches
  }

  /** Verifies batches after that position. Returns the last position, or `undefined` at the end. */
  verify(afterBatch: number, budget: number): number | undefined {
    let size = 0
    for (const row of this.#store.each<EventRow>(selectVerified, afterBatch)) {
      if (intactBatch(row, this.#checkedFrom) === undefined) this.#reportDamage("a run")
      else size += row.lines.length
      if (size >= budget) return row.batch
    }
    return undefined
  }

  lastPosition(): number {
    return this.#store.get<{ readonly batch: number | null }>(selectNewest)?.batch ?? 0
  }

  lastSeq(runId: RunId): number {
    return (
      this.#store.get<{ readonly seq: number | null }>(selectLast, runId)?.seq ??
      this.#store.get<{ readonly seq: number }>(selectForgotten, runId)?.seq ??
      0
    )
  }

  isForgotten(runId: RunId): boolean {
    return this.#store.get(selectForgotten, runId) !== undefined
  }

  endsAt(runId: RunId, seq: number): boolean {
    if (this.isForgotten(runId)) return seq === this.lastSeq(runId)
    const batch = seq === 0 ? undefined : this.read(runId, seq - 1, 1)[0]
    return batch?.terminal === true && batch.lastSeq === seq
  }

  /** Sound batches after `after`; `isBroken` if a damaged one ends them. */
  #page(runId: RunId, after: number, budget: number) {
    const batches: Array<StoredBatch> = []
    let next = after + 1
    let size = 0
    let isBroken = false
    for (const row of this.#store.each<EventRow>(selectAfter, runId, after)) {
      // Logs are dense: a gap is possible only before the first row, where `Retention` has begun.
      const isNext = batches.length === 0 ? row.first_seq <= next : row.first_seq === next
      const batch = isNext ? intactBatch(row, this.#checkedFrom) : undefined
      isBroken = batch === undefined
      if (batch === undefined) break
      batches.push(batch)
      next = row.last_seq + 1
      size += row.lines.length
      if (size >= budget) break
    }
    return { batches, isBroken }
  }

  /** The last seq of the run according to its row. */
  #storedSeq(runId: RunId): number {
    return this.#store.get<{ readonly seq: number }>(selectStored, runId)?.seq ?? 0
  }

  #reportDamage(what: string): StoreDamaged {
    const damage = new StoreDamaged({ message: `The stored events of ${what} are damaged.` })
    this.#store.reportDamage(damage)
    return damage
  }
}

const selectAfter = `SELECT ${eventColumns} FROM events WHERE run_id = ? AND last_seq > ? ORDER BY last_seq`
const selectAll = `SELECT ${eventColumns} FROM events WHERE batch > ? AND ${isEvents} AND run_id NOT IN (SELECT id FROM runs WHERE log = 'going') ORDER BY batch`
const selectVerified = `SELECT ${eventColumns} FROM events WHERE batch > ? AND ${isEvents} ORDER BY batch`
const selectNewest = "SELECT max(batch) AS batch FROM events"
const selectChecked = "SELECT first_batch FROM checksums"
const selectStored = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log NOT IN ('going', 'gone')"
const selectLast = "SELECT max(last_seq) AS seq FROM events WHERE run_id = ?"
/** Another value is damage: it does not make a log forgotten. */
const selectForgotten = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log IN ('going', 'gone')"
