/**
 * The event log: per run, events with `seq` dense from 1; the spine that everything else reads.
 *
 * Owns the order append → durable → visible. An event's JSON is made once, by the appender; that text is what is stored, replayed and
 * sent. A reader is a cursor: it reads at its own pace and is told when there is more. It promises nothing about who may read.
 *
 * A log is kept whole or not at all: what `Retention` drops is forgotten from its first row on. A checksum per batch is verified by every
 * read: damaged events are never served, and a read that comes to them throws `StoreDamaged`.
 */
import { eventIds, type RunId } from "@corral/domain/identity/Ids"
import { PAYLOAD_VERSION, type EventDraft, type EventStamp } from "@corral/domain/run/RunEvent"
import { Context, Effect, Layer } from "effect"
import { CurrentMetrics } from "@corral/service/telemetry/Metrics"
import { crc32 } from "node:zlib"
import { edgeMetrics } from "../EdgeMetrics.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"
import { Store, type StoreFailed, type Write } from "../store/Store.ts"

/** Events of one append, as JSON lines without a final newline. Shared by every reader that is up to date. */
export interface Batch {
  /** Position among the batches of all runs. 0 on a batch that was just appended. */
  readonly batch: number
  readonly runId: RunId
  readonly firstSeq: number
  readonly lastSeq: number
  readonly lines: string
  /** The lines in UTF-8, where they were encoded for the checksum: frames are made of them. */
  readonly bytes?: Buffer
  /** The last event of its run is in here. */
  readonly terminal: boolean
}

/** Told of each batch once it is durable. Must not block and must not throw. */
export type Follower = (batch: Batch) => void

export interface Appended {
  readonly runId: RunId
  readonly firstSeq: number
  readonly lines: ReadonlyArray<string>
  readonly terminal: boolean
}

export class EventLog extends Context.Service<
  EventLog,
  {
    /** Succeeds when the events, if any, and the writes that go with them are on disk; followers have been told by then. */
    readonly append: (events: Appended, projections: ReadonlyArray<Write>) => Effect.Effect<void, StoreFailed>
    /**
     * Batches with events after `after`, oldest first, about `budget` characters of them (at least one batch if there is any). None
     * where the next event is no longer kept. Throws `StoreDamaged` where the next event is damaged.
     */
    readonly read: (runId: RunId, after: number, budget: number) => ReadonlyArray<Batch>
    /** The same over all runs, by batch position; forgotten runs and damaged batches are left out. */
    readonly readAll: (afterBatch: number, budget: number) => ReadonlyArray<Batch>
    /** Verifies batches after that position, about `budget` characters of them. Gives the last position, `undefined` at the end. */
    readonly verify: (afterBatch: number, budget: number) => number | undefined
    /** The last durable seq of a run, 0 where it has none. */
    readonly lastSeq: (runId: RunId) => number
    /** Whether the run has ended long ago and its events are dropped, or being dropped: the run's row is what is left. */
    readonly isForgotten: (runId: RunId) => boolean
    /** Whether the run's last event is the one with that seq. */
    readonly endsAt: (runId: RunId, seq: number) => boolean
    /** Calls the follower for every batch of the run (or of all runs) from now on, until the returned function is called. */
    readonly follow: (runId: RunId | undefined, follower: Follower) => () => void
  }
>()("corral/edge/EventLog") {
  static readonly layer = Layer.effect(
    EventLog,
    Effect.gen(function* () {
      const store = yield* Store
      const metrics = yield* CurrentMetrics
      const appended = metrics.counter(edgeMetrics.events)
      const committing = metrics.histogram(edgeMetrics.commit)
      const byRun = new Map<RunId, Set<Follower>>()
      const ofAll = new Set<Follower>()

      const tell = (batch: Batch): void => {
        byRun.get(batch.runId)?.forEach((follower) => follower(batch))
        ofAll.forEach((follower) => follower(batch))
      }

      const append = (events: Appended, projections: ReadonlyArray<Write>) => {
        const { runId, firstSeq, terminal } = events
        const lines = events.lines.join("\n")
        const lastSeq = firstSeq + events.lines.length - 1
        if (events.lines.length === 0) return store.commit(projections)
        const began = performance.now()
        const bytes = Buffer.from(lines)
        const checksum = checksumOf(firstSeq, lastSeq, bytes)
        return store.commit([[insertBatch, runId, firstSeq, lastSeq, lines, checksum], ...projections]).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              committing.record((performance.now() - began) / 1_000)
              appended.add(events.lines.length)
              tell({ batch: 0, runId, firstSeq, lastSeq, lines, bytes, terminal })
            })
          ),
          // What became durable is told, whoever has stopped waiting for it.
          Effect.uninterruptible
        )
      }

      const checkedFrom = store.get<{ readonly first_batch: number }>(selectChecked)?.first_batch ?? 1
      /** The batch of a row; `undefined` where the row is damaged. */
      const soundBatch = (row: Row): Batch | undefined => {
        if (!hasShape(row)) return undefined
        const { batch, checksum, first_seq: firstSeq, last_seq: lastSeq, lines } = row
        if (checksum === null && batch < checkedFrom) return isLog(row) ? fromRow(row) : undefined
        const bytes = Buffer.from(lines)
        const isSound = checksum === checksumOf(firstSeq, lastSeq, bytes) && isAtItsPlace(row)
        return isSound ? { ...fromRow(row), bytes } : undefined
      }
      const damaged = (what: string): StoreDamaged => {
        const damage = new StoreDamaged({ message: `The stored events of ${what} are damaged.` })
        store.reportDamage(damage)
        return damage
      }

      /** Sound batches after `after`; `isBroken` where a damaged one ends them. */
      const page = (runId: RunId, after: number, budget: number) => {
        const batches: Array<Batch> = []
        let next = after + 1
        let size = 0
        let isBroken = false
        for (const row of store.each<Row>(selectAfter, runId, after)) {
          // Logs are dense: before the first row is a gap where Retention has begun, and nowhere else.
          const isNext = batches.length === 0 ? row.first_seq <= next : row.first_seq === next
          const batch = isNext ? soundBatch(row) : undefined
          isBroken = batch === undefined
          if (batch === undefined) break
          batches.push(batch)
          next = row.last_seq + 1
          size += row.lines.length
          if (size >= budget) break
        }
        return { batches, isBroken }
      }

      const read = (runId: RunId, after: number, budget: number): ReadonlyArray<Batch> => {
        let { batches, isBroken } = page(runId, after, budget)
        if (batches.length === 0 && !isBroken) {
          if (after >= storedSeq(runId)) return []
          // Events are missing, or were committed between the two queries. A second read tells: a batch and its run's row are one commit.
          ;({ batches, isBroken } = page(runId, after, budget))
          isBroken ||= batches.length === 0
        }
        const [first, ...rest] = batches
        if (first !== undefined) return first.firstSeq <= after ? [cutBefore(first, after), ...rest] : batches
        if (isBroken && !isForgotten(runId)) throw damaged(runId)
        return []
      }

      const readAll = (afterBatch: number, budget: number): ReadonlyArray<Batch> => {
        const batches: Array<Batch> = []
        let size = 0
        for (const row of store.each<Row>(selectAll, afterBatch)) {
          const batch = soundBatch(row)
          if (batch === undefined) {
            damaged("a run")
            continue
          }
          batches.push(batch)
          size += row.lines.length
          if (size >= budget) break
        }
        return batches
      }

      const verify = (afterBatch: number, budget: number): number | undefined => {
        let size = 0
        for (const row of store.each<Row>(selectVerified, afterBatch)) {
          if (soundBatch(row) === undefined) damaged("a run")
          else size += row.lines.length
          if (size >= budget) return row.batch
        }
        return undefined
      }

      const follow = (runId: RunId | undefined, follower: Follower): (() => void) => {
        if (runId === undefined) {
          ofAll.add(follower)
          return () => ofAll.delete(follower)
        }
        const followers = byRun.get(runId) ?? new Set<Follower>()
        byRun.set(runId, followers.add(follower))
        return () => {
          followers.delete(follower)
          if (followers.size === 0 && byRun.get(runId) === followers) byRun.delete(runId)
        }
      }

      /** The last seq of the run by its own row. */
      const storedSeq = (runId: RunId): number =>
        store.get<{ readonly seq: number }>(selectStored, runId)?.seq ?? 0
      const isForgotten = (runId: RunId): boolean => store.get(selectForgotten, runId) !== undefined

      const lastSeq = (runId: RunId): number =>
        store.get<{ readonly seq: number | null }>(selectLast, runId)?.seq ??
        store.get<{ readonly seq: number }>(selectForgotten, runId)?.seq ??
        0

      const endsAt = (runId: RunId, seq: number): boolean => {
        if (isForgotten(runId)) return seq === lastSeq(runId)
        const batch = seq === 0 ? undefined : read(runId, seq - 1, 1)[0]
        return batch?.terminal === true && batch.lastSeq === seq
      }

      return EventLog.of({
        append,
        read,
        readAll,
        verify,
        lastSeq,
        isForgotten,
        endsAt,
        follow
      })
    })
  )
}

const insertBatch = "INSERT INTO events (run_id, first_seq, last_seq, lines, checksum) VALUES (?, ?, ?, ?, ?)"
const columns = "batch, run_id, first_seq, last_seq, lines, checksum"
const selectAfter = `SELECT ${columns} FROM events WHERE run_id = ? AND last_seq > ? ORDER BY last_seq`
const selectAll = `SELECT ${columns} FROM events WHERE batch > ? AND run_id NOT IN (SELECT id FROM runs WHERE log = 'going') ORDER BY batch`
const selectVerified = `SELECT ${columns} FROM events WHERE batch > ? ORDER BY batch`
const selectChecked = "SELECT first_batch FROM checksums"
const selectStored = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log = 'kept'"
const selectLast = "SELECT max(last_seq) AS seq FROM events WHERE run_id = ?"
const selectForgotten = "SELECT last_seq AS seq FROM runs WHERE id = ? AND log <> 'kept'"

interface Row {
  readonly batch: number
  readonly run_id: RunId
  readonly first_seq: number
  readonly last_seq: number
  readonly lines: string
  readonly checksum: number | null
}

/** CRC-32 of a batch and of its length. It is on the path of every event: of bytes it costs half of what it costs of a string. */
const checksumOf = (firstSeq: number, lastSeq: number, bytes: Buffer): number =>
  crc32(bytes, lastSeq - firstSeq)

/** What a damaged page gives for a row may be of any type. */
const hasShape = ({ first_seq: firstSeq, last_seq: lastSeq, lines, run_id: runId }: Row): boolean =>
  typeof lines === "string" &&
  typeof runId === "string" &&
  Number.isSafeInteger(firstSeq) &&
  Number.isSafeInteger(lastSeq) &&
  lastSeq >= firstSeq &&
  lastSeq - firstSeq <= MAX_BATCH

const MAX_BATCH = 0xffff_ffff

/** The id of an event derives from its run and seq: a row of another run, or at another position, begins with another one. */
const isAtItsPlace = ({ first_seq: firstSeq, lines, run_id: runId }: Row): boolean =>
  lines.startsWith(`{"id":"${eventIds(runId)(firstSeq)}"`)

/** A batch that was stored without a checksum: as many events as it says, each of them JSON with its own seq. */
const isLog = ({ first_seq: firstSeq, last_seq: lastSeq, lines }: Row): boolean => {
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

/** The type stands at a fixed place of the line, before anything a runtime wrote. */
const isTerminalLine = (line: string): boolean =>
  /^\{"id":"[^"]*","seq":\d+,"type":"run\.(completed|failed|cancelled)"/.test(line)

const fromRow = (row: Row): Batch => ({
  batch: row.batch,
  runId: row.run_id,
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  lines: row.lines,
  terminal: isTerminalLine(
    row.lines.slice(row.lines.lastIndexOf("\n") + 1, row.lines.lastIndexOf("\n") + 200)
  )
})

const cutBefore = ({ batch, firstSeq, lastSeq, lines, runId, terminal }: Batch, after: number): Batch => ({
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

/** Turns drafts into the text that is stored and sent. One per run: what never changes is written once. */
export const encoder = (
  stamp: EventStamp
): ((seq: number, createdAt: string, event: EventDraft) => string) => {
  const session = stamp.sessionId === undefined ? "" : `,"sessionId":${JSON.stringify(stamp.sessionId)}`
  const agent = stamp.agentId === undefined ? "" : `,"agentId":${JSON.stringify(stamp.agentId)}`
  const id = eventIds(stamp.runId)
  const middle = `,"runId":"${stamp.runId}"${session}${agent},"createdAt":"`
  return (seq, createdAt, event) => {
    const payload = JSON.stringify(event.payload)
    const body = payload === "{}" ? `{"v":${PAYLOAD_VERSION}}` : `{"v":${PAYLOAD_VERSION},${payload.slice(1)}`
    return `{"id":"${id(seq)}","seq":${seq},"type":"${event.type}"${middle}${createdAt}","payload":${body}}`
  }
}
