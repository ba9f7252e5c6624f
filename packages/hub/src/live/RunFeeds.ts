/**
 * Logs as they grow, for everyone in this process who follows one: a wake-up is one read of the log, however many are told of it.
 *
 * Only those who are at the log's end are handed batches, the same to all of them. Whoever is behind is told that there is more, and
 * reads at their own pace: nobody is waited for.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { Context, Effect, Fiber, Layer } from "effect"
import type { LogBatch } from "../run/LogBatch.ts"
import { RunLog } from "../run/RunLog.ts"
import { Notices } from "../store/Notices.ts"

/** Must not block and must not throw. */
export interface RunFollower {
  /** The last seq that it has of the run, where it waits for the next; `undefined` while it reads for itself. */
  readonly waitsAfter: (runId: RunId) => number | undefined
  readonly told: (batch: LogBatch) => void
  /** There may be more of that run. */
  readonly woken: (runId: RunId) => void
  /** There may be more of anything. */
  readonly wokenAll: () => void
}

export class RunFeeds extends Context.Service<
  RunFeeds,
  {
    /** Tells the follower of that run, or of all runs of that session, until the returned function is called. */
    readonly follow: (id: RunId | SessionId, follower: RunFollower) => () => void
  }
>()("corral/hub/RunFeeds") {
  static readonly layer = Layer.effect(
    RunFeeds,
    Effect.gen(function* () {
      const log = yield* RunLog
      const notices = yield* Notices
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const following = new Map<string, Set<RunFollower>>()
      /** Runs that are being read for those who wait; `true` where there may be more by now. */
      const reading = new Map<RunId, boolean>()

      const of = (id: string | undefined): ReadonlyArray<RunFollower> =>
        id === undefined ? [] : [...(following.get(id) ?? [])]

      /** Hands out what has come, until those who wait have it all. */
      const handOut = Effect.fnUntraced(function* (runId: RunId, sessionId: string | undefined) {
        for (;;) {
          reading.set(runId, false)
          const followers = [...of(runId), ...of(sessionId)]
          for (const follower of followers)
            if (follower.waitsAfter(runId) === undefined) follower.woken(runId)
          const positions = followers.flatMap((follower) => follower.waitsAfter(runId) ?? [])
          if (positions.length === 0) break
          // Who waits for an earlier one sees a gap, and reads for itself.
          const batches = yield* log.read(runId, Math.max(...positions), PAGE)
          for (const batch of batches) for (const follower of followers) follower.told(batch)
          const characters = batches.reduce((sum, { lines }) => sum + lines.length, 0)
          // What is committed after this read is told of after it: only a full page says by itself that there is more.
          if (characters < PAGE && reading.get(runId) !== true) break
        }
        // In one go with the look before: nothing is woken in between.
        reading.delete(runId)
      })

      const wake = (runId: RunId, sessionId: string | undefined): void => {
        if (reading.has(runId)) {
          reading.set(runId, true)
          return
        }
        if (!following.has(runId) && (sessionId === undefined || !following.has(sessionId))) return
        reading.set(runId, false)
        const handing = handOut(runId, sessionId).pipe(
          // Whoever waits reads for itself, and closes where that does not go.
          Effect.catch(() =>
            Effect.sync(() => {
              reading.delete(runId)
              for (const follower of [...of(runId), ...of(sessionId)]) follower.woken(runId)
            })
          )
        )
        Fiber.runIn(Effect.runForkWith(services)(handing), scope)
      }

      notices.follow({
        onNotice: (kind, payload) => {
          if (kind !== "run") return
          const [runId, sessionId] = payload.split(" ", 2)
          // `RunLog` alone tells this channel.
          wake(runId as RunId, sessionId)
        },
        onMissed: () => {
          for (const followers of following.values()) for (const follower of followers) follower.wokenAll()
        }
      })

      return RunFeeds.of({
        follow: (id, follower) => {
          const followers = following.get(id) ?? new Set<RunFollower>()
          following.set(id, followers.add(follower))
          return () => {
            followers.delete(follower)
            if (followers.size === 0 && following.get(id) === followers) following.delete(id)
          }
        }
      })
    })
  )
}

/** Characters that are read at once. */
const PAGE = 262_144
