/**
 * Push of run logs to a Hub, during one link.
 *
 * Starts where the Hub's logs end; no position is stored between links. Memory is bounded by the pushes in flight. A run is complete when all
 * its events are acknowledged.
 */
import { type EdgeLink, MAX_PUSHES_IN_FLIGHT } from "@corral/domain/link/EdgeLink"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Latch } from "effect"
import type { RpcClient, RpcGroup } from "effect/rpc"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { Store } from "../store/Store.ts"
import { brokenLink, type LinkEnd } from "./LinkEnd.ts"
import { endPush, hasUnpushedEvents, runsToPush } from "./HubRuns.ts"
import { type Push, type PushEnd, PushWindow } from "./PushWindow.ts"

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
