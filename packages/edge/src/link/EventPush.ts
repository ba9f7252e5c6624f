/**
 * Push of run logs to a Hub, for as long as one link lasts.
 *
 * Starts where the Hub says that its logs end: nothing is remembered between links. Memory is bounded by the pushes in flight. A run is
 * done when all its events are acknowledged.
 */
import { type EdgeLink, MAX_PUSHES_IN_FLIGHT } from "@corral/domain/link/EdgeLink"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { Effect, Latch } from "effect"
import type { RpcClient, RpcGroup } from "effect/rpc"
import type { RpcClientError } from "effect/rpc/RpcClientError"
import { EdgeEventLog } from "../log/EdgeEventLog.ts"
import { Store } from "../store/Store.ts"
import { finish, isOpen, openRuns } from "./HubRuns.ts"
import { type PushEnd, PushWindow } from "./PushWindow.ts"

/** Calls to a Hub over one link. */
export type HubCalls = RpcClient.RpcClient<RpcGroup.Rpcs<typeof EdgeLink>, RpcClientError>

export interface ProvenLink {
  readonly deviceId: DeviceId
  readonly generation: number
  readonly calls: HubCalls
  /** Open while nothing waits to be pushed. */
  readonly idle: Latch.Latch
  /** Called whenever the Hub has acknowledged something. */
  readonly onUse: () => void
}

const RUNS_ASKED_AT_ONCE = 500

/** Never ends by itself; fails when the link does. */
export const pushEvents = ({ calls, deviceId, generation, idle, onUse }: ProvenLink) =>
  Effect.gen(function* () {
    const log = yield* EdgeEventLog
    const store = yield* Store
    const more = Latch.makeUnsafe(false)
    const ends: Array<PushEnd> = []
    const window = new PushWindow(log, (end) => void ends.push(end))
    const wake = (): void => {
      if (!window.hasReady) return
      idle.closeUnsafe()
      more.openUnsafe()
    }
    let underWay = 0

    // Before the runs are looked up: a run that starts meanwhile is in the result or notifies the follower.
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        log.follow(undefined, ({ firstSeq, runId }) => {
          if (firstSeq === 1 && isOpen(store, deviceId, runId)) window.open(runId, 0)
          else window.more(runId)
          wake()
        })
      ),
      (unfollow) => Effect.sync(unfollow)
    )

    const settleEnds = Effect.gen(function* () {
      for (let end = ends.shift(); end !== undefined; end = ends.shift()) {
        const { runId, seq, why } = end
        if (why !== "complete")
          yield* Effect.logWarning(`run ${runId} is not pushed beyond event ${seq}: ${sentences[why]}`)
        // Where it is not written down, the next link comes to the same end.
        if (why !== "stuck" && why !== "damaged") yield* Effect.ignore(finish(store, runId, seq))
      }
    })

    const worker = Effect.gen(function* () {
      for (;;) {
        const push = window.take()
        if (push === undefined) {
          more.closeUnsafe()
          if (underWay === 0) idle.openUnsafe()
        }
        if (ends.length > 0) yield* settleEnds
        if (push === undefined) {
          yield* more.await
          continue
        }
        underWay++
        const acks = yield* calls.PushEvents({ generation, batches: push.batches })
        underWay--
        onUse()
        window.settle(push, acks)
        wake()
      }
    })

    const open = openRuns(store, deviceId)
    for (let at = 0; at < open.length; at += RUNS_ASKED_AT_ONCE) {
      const runIds = open.slice(at, at + RUNS_ASKED_AT_ONCE)
      const acks = new Map(
        (yield* calls.Acks({ generation, runIds })).map(({ runId, seq }) => [runId, seq] as const)
      )
      for (const runId of runIds) window.open(runId, acks.get(runId) ?? 0)
    }
    const workers = Array.from({ length: MAX_PUSHES_IN_FLIGHT }, () => worker)
    return yield* Effect.raceAllFirst(workers)
  }).pipe(Effect.scoped)

const sentences = {
  damaged: "the stored events are damaged",
  forgotten: "the log is no longer kept here",
  permission_denied: "the Hub says that it is not this device's",
  schema_validation_failed: "the Hub cannot read what follows",
  stuck: "the Hub did not take what follows, and is asked again by the next link"
} satisfies Record<Exclude<PushEnd["why"], "complete">, string>
