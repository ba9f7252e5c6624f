/**
 * Push of run logs to a Hub, during one link: a cursor over the log of each run, round robin among the runs.
 *
 * Starts where the Hub's logs end; no position is stored between links. Memory is bounded by the pushes in flight: the cursors have positions and no events. A run is complete when all its events are
 * acknowledged.
 *
 * Guarantees: events are pushed in order and without gaps, from the end of the Hub's log of the run. After a rejected push, the cursor goes back. A run without progress is not pushed again until
 * `retryStuck`.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import {
  type Ack,
  type EdgeLink,
  type EventBatch,
  MAX_PUSH_CHARACTERS,
  MAX_PUSH_EVENTS,
  MAX_PUSHES_IN_FLIGHT,
  type PushAck
} from "@corral/domain/link/EdgeLink"
import { Clock, Effect, Latch } from "effect"
import type { RpcClient, RpcGroup } from "effect/rpc"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { Store } from "../store/Store.ts"
import { StoreDamaged } from "../store/StoreDamage.ts"
import { endPush, hasUnpushedEvents, runsToPush } from "./HubRuns.ts"
import { brokenLink, type LinkEnd } from "./LinkSocket.ts"

/** Reason for the end of a run's push. `damaged` applies to this link, `stuck` for a while, other reasons permanently. */
export interface PushEnd extends Ack {
  readonly reason:
    | "complete"
    | "damaged"
    | "forgotten"
    | "permission_denied"
    | "schema_validation_failed"
    | "stuck"
}

/** A push in flight. */
export interface Push {
  readonly batches: ReadonlyArray<EventBatch>
  /** For each batch, the number of rewinds of its run before it. */
  readonly rewinds: ReadonlyArray<number>
}

interface Cursor {
  readonly runId: RunId
  acked: number
  sent: number
  /** Seq of the terminal event, once it is read. */
  end: number | undefined
  /** Number of times the run went back to its last acknowledged event. */
  rewinds: number
  /** Number of those since the last acknowledgement. */
  rewindsWithoutAck: number
}

const MAX_REWINDS_WITHOUT_ACK = 3

export class PushWindow {
  private readonly log: Pick<EdgeEventLog["Service"], "read" | "isForgotten" | "endsAt">
  private readonly onEnd: (end: PushEnd) => void
  private readonly cursors = new Map<RunId, Cursor>()
  /** Runs that may have more events, in round-robin order. */
  private readonly ready = new Set<RunId>()

  constructor(log: PushWindow["log"], onEnd: (end: PushEnd) => void) {
    this.log = log
    this.onEnd = onEnd
  }

  get hasReady(): boolean {
    return this.ready.size > 0
  }

  /** Adds a run after the last seq that the Hub has. */
  addRun(runId: RunId, acked: number): void {
    if (this.cursors.has(runId)) return
    const cursor = { runId, acked, sent: acked, end: undefined, rewinds: 0, rewindsWithoutAck: 0 }
    this.cursors.set(runId, cursor)
    const isComplete = this.readUndamaged(cursor, () => this.log.endsAt(runId, acked))
    if (isComplete === true) this.finish(cursor, "complete")
    else if (isComplete === false) this.ready.add(runId)
  }

  /** Marks a run with new events in its log. */
  markReady(runId: RunId): void {
    const cursor = this.cursors.get(runId)
    if (cursor !== undefined && cursor.rewindsWithoutAck < MAX_REWINDS_WITHOUT_ACK) this.ready.add(runId)
  }

  /** Allows the pushes of a stuck run again. */
  retryStuck(runId: RunId): void {
    const cursor = this.cursors.get(runId)
    if (cursor === undefined) return
    cursor.rewindsWithoutAck = 0
    this.ready.add(runId)
  }

  /** The next push; `undefined` if there is none. */
  next(): Push | undefined {
    const batches: Array<EventBatch> = []
    const rewinds: Array<number> = []
    let events = 0
    let characters = 0
    const served = new Set<RunId>()
    for (const runId of this.ready) {
      // Each run is served once per push.
      if (served.has(runId)) break
      const cursor = this.cursors.get(runId)
      const lines = cursor === undefined ? [] : this.read(cursor, MAX_PUSH_CHARACTERS - characters)
      if (cursor === undefined || lines.length === 0) {
        this.ready.delete(runId)
        if (this.cursors.has(runId) && cursor !== undefined && this.log.isForgotten(runId))
          this.finish(cursor, "forgotten")
        continue
      }
      let taken = 0
      for (const line of lines) {
        const fits = events < MAX_PUSH_EVENTS && characters + line.length <= MAX_PUSH_CHARACTERS
        if (!fits && events > 0) break
        events++
        characters += line.length
        taken++
      }
      // It no longer fits, so it is first in the next push.
      if (taken === 0) break
      batches.push({ runId, firstSeq: cursor.sent + 1, events: lines.slice(0, taken) })
      rewinds.push(cursor.rewinds)
      cursor.sent += taken
      served.add(runId)
      this.ready.delete(runId)
      // The log ends when a read returns nothing. The last read may have ended with a full row.
      if (cursor.sent !== cursor.end) this.ready.add(runId)
      if (events >= MAX_PUSH_EVENTS || characters >= MAX_PUSH_CHARACTERS) break
    }
    return batches.length === 0 ? undefined : { batches, rewinds }
  }

  /** Completes a push with its result. */
  complete({ batches, rewinds }: Push, acks: ReadonlyArray<PushAck>): void {
    for (const [i, batch] of batches.entries()) {
      const cursor = this.cursors.get(batch.runId)
      const ack = acks.find(({ runId }) => runId === batch.runId)
      if (cursor === undefined) continue
      if (ack !== undefined && ack.seq > cursor.acked) {
        cursor.acked = ack.seq
        cursor.sent = Math.max(cursor.sent, ack.seq)
        cursor.rewindsWithoutAck = 0
      }
      const lastSeq = batch.firstSeq + batch.events.length - 1
      if (ack?.refused === "permission_denied" || ack?.refused === "schema_validation_failed")
        this.finish(cursor, ack.refused)
      else if (cursor.end !== undefined && cursor.acked >= cursor.end) this.finish(cursor, "complete")
      // Of several rejected pushes in flight, only the first one rewinds.
      else if (cursor.acked < lastSeq && rewinds[i] === cursor.rewinds) this.rewind(cursor)
    }
  }

  private read(cursor: Cursor, budget: number): ReadonlyArray<string> {
    const batches =
      this.readUndamaged(cursor, () => this.log.read(cursor.runId, cursor.sent, Math.max(budget, 1))) ?? []
    const last = batches.at(-1)
    if (last?.terminal === true) cursor.end = last.lastSeq
    return batches.flatMap(({ lines }) => lines.split("\n"))
  }

  /** Ends the pushes of a run with a damaged log. Other runs continue. */
  private readUndamaged<A>(cursor: Cursor, read: () => A): A | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error
      this.finish(cursor, "damaged")
      return undefined
    }
  }

  private rewind(cursor: Cursor): void {
    cursor.rewinds++
    cursor.sent = cursor.acked
    cursor.rewindsWithoutAck++
    if (cursor.rewindsWithoutAck < MAX_REWINDS_WITHOUT_ACK) this.ready.add(cursor.runId)
    else {
      this.ready.delete(cursor.runId)
      this.onEnd({ runId: cursor.runId, seq: cursor.acked, reason: "stuck" })
    }
  }

  private finish({ acked, runId }: Cursor, reason: PushEnd["reason"]): void {
    this.cursors.delete(runId)
    this.ready.delete(runId)
    this.onEnd({ runId, seq: acked, reason })
  }
}

/** Calls to a Hub over one link. */
export type HubCalls = RpcClient.RpcClient<RpcGroup.Rpcs<typeof EdgeLink>, RpcClientError>

export interface ProvenLink {
  readonly deviceId: DeviceId
  readonly generation: number
  readonly calls: HubCalls
  /** Open while no event is pending. */
  readonly idle: Latch.Latch
  /** Milliseconds for the acknowledgement of a push. */
  readonly acknowledgeMs: number
  /** Runs after each acknowledgement of the Hub. */
  readonly onUse: () => void
}

const RUNS_PER_QUERY = 500
/** Until a run is pushed again whose pushes the Hub did not store. */
const RETRY_STUCK = "30 seconds"

/** Never succeeds; fails when the link fails. */
export const pushEvents = (link: ProvenLink) =>
  Effect.gen(function* () {
    const { acknowledgeMs, calls, deviceId, generation, idle, onUse } = link
    const log = yield* EdgeEventLog
    const store = yield* Store
    const clock = yield* Clock.Clock
    const more = Latch.makeUnsafe(false)
    const ends: Array<PushEnd> = []
    const window = new PushWindow(log, (end) => void ends.push(end))
    const wake = (): void => {
      if (!window.hasReady) return
      idle.closeUnsafe()
      more.openUnsafe()
    }
    /** Pushes without an acknowledgement, oldest first, with the time when they were sent. */
    const inFlight = new Map<Push, number>()

    // Before the lookup of runs: a run that starts meanwhile is in the result, or notifies the follower.
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        log.follow(undefined, {
          receive: ({ firstSeq, runId }) => {
            if (firstSeq === 1 && hasUnpushedEvents(store, deviceId, runId)) window.addRun(runId, 0)
            else window.markReady(runId)
            wake()
          }
        })
      ),
      (unfollow) => Effect.sync(unfollow)
    )

    const scope = yield* Effect.scope
    const retryStuck = (runId: RunId) =>
      Effect.delay(
        Effect.sync(() => {
          window.retryStuck(runId)
          wake()
        }),
        RETRY_STUCK
      )

    const settleEnds = Effect.gen(function* () {
      for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
        const { reason, runId, seq } = end
        if (reason !== "complete")
          yield* Effect.logWarning("stopped pushing a run", { runId, seq, reason: sentences[reason] })
        // If this write fails, the next link ends the push again.
        if (reason !== "stuck" && reason !== "damaged") yield* Effect.ignore(endPush(store, runId, seq))
        if (reason === "stuck") yield* Effect.forkIn(retryStuck(runId), scope)
      }
    })

    const worker = Effect.gen(function* () {
      for (;;) {
        // Before the next push is taken: from then on nothing may wait, or later events of its runs are sent first.
        if (ends.length > 0) yield* settleEnds
        const push = window.next()
        if (push === undefined) {
          if (ends.length > 0) continue
          more.closeUnsafe()
          if (inFlight.size === 0) idle.openUnsafe()
          yield* more.await
          continue
        }
        inFlight.set(push, clock.currentTimeMillisUnsafe())
        const acks = yield* calls.PushEvents({ generation, batches: push.batches })
        inFlight.delete(push)
        onUse()
        window.complete(push, acks)
        wake()
      }
    })

    yield* addOpenRuns(link, store, window)
    const workers = Array.from({ length: MAX_PUSHES_IN_FLIGHT }, () => worker)
    return yield* Effect.raceAllFirst([...workers, failOverdue(inFlight, acknowledgeMs)])
  }).pipe(Effect.scoped)

/** Adds the runs with unpushed events, from where the Hub's logs end. */
const addOpenRuns = Effect.fnUntraced(function* (
  { calls, deviceId, generation }: ProvenLink,
  store: Store["Service"],
  window: PushWindow
) {
  const open = runsToPush(store, deviceId)
  for (let at = 0; at < open.length; at += RUNS_PER_QUERY) {
    const runIds = open.slice(at, at + RUNS_PER_QUERY)
    const acks = new Map(
      (yield* calls.Acks({ generation, runIds })).map(({ runId, seq }) => [runId, seq] as const)
    )
    for (const runId of runIds) window.addRun(runId, acks.get(runId) ?? 0)
  }
})

/** Never succeeds: fails when the oldest push waits for too long. This Hub may have lost its database, and another one not. */
const failOverdue = Effect.fnUntraced(function* (
  inFlight: ReadonlyMap<Push, number>,
  acknowledgeMs: number
): Effect.fn.Return<never, LinkEnd> {
  for (;;) {
    yield* Effect.sleep(acknowledgeMs / 4)
    const [sentAt] = inFlight.values()
    const now = yield* Clock.currentTimeMillis
    if (sentAt !== undefined && now - sentAt > acknowledgeMs)
      return yield* brokenLink("the Hub does not acknowledge events")
  }
})

const sentences = {
  damaged: "the stored events are damaged",
  forgotten: "the log is no longer kept here",
  permission_denied: "the Hub says that it is not this device's",
  schema_validation_failed: "the Hub cannot read what follows",
  stuck: "the Hub did not take what follows, and is asked again in 30 seconds"
} satisfies Record<Exclude<PushEnd["reason"], "complete">, string>
