/**
 * Growth of run logs, for all followers in this process: one read of the log per notice, shared by all of them.
 *
 * Only followers at the end of a log receive batches. A follower that is behind is woken, and reads at its own pace. Does not: wait for
 * any follower.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import type { LogFollower } from "@corral/service/stream/LogSource"
import { Context, Effect, Fiber, Layer } from "effect"
import type { LogGrowth } from "../run/RunPushes.ts"
import { RunLog } from "../run/RunLog.ts"
import { Notices } from "../store/Notices.ts"

/** Follower of one run, or of all runs of a session. Must not block and must not throw. */
export interface FeedFollower {
  readonly followerOf: (runId: RunId) => LogFollower
  /** Any of the logs may have grown. */
  readonly wakeAll: () => void
}

export class RunFeeds extends Context.Service<
  RunFeeds,
  {
    /** Notifies the follower of that run, or of all runs of that session, until the returned function is called. */
    readonly follow: (id: RunId | SessionId, follower: FeedFollower) => () => void
  }
>()("corral/hub/RunFeeds") {
  static readonly layer = Layer.effect(
    RunFeeds,
    Effect.gen(function* () {
      const log = yield* RunLog
      const notices = yield* Notices
      const scope = yield* Effect.scope
      const services = yield* Effect.context<never>()
      const followers = new Map<string, Set<FeedFollower>>()
      /** Runs that are being read; `true`: the log has grown since the read began. */
      const reading = new Map<RunId, boolean>()

      const followersOf = (runId: RunId, sessionId: string | undefined): ReadonlyArray<LogFollower> =>
        [runId, sessionId].flatMap((id) =>
          id === undefined ? [] : [...(followers.get(id) ?? [])].map((each) => each.followerOf(runId))
        )

      /** Passes on new batches until every waiting follower has them all. */
      const distribute = Effect.fnUntraced(function* (runId: RunId, sessionId: string | undefined) {
        for (;;) {
          reading.set(runId, false)
          const present = followersOf(runId, sessionId)
          for (const follower of present) if (follower.waitsAfter() === undefined) follower.wake()
          const positions = present.flatMap((follower) => follower.waitsAfter() ?? [])
          if (positions.length === 0) break
          // A follower at an earlier position sees a gap, and reads by itself.
          const batches = yield* log.read(runId, Math.max(...positions), FEED_BUDGET)
          for (const batch of batches) for (const follower of present) follower.receive(batch)
          const characters = batches.reduce((sum, { lines }) => sum + lines.length, 0)
          // A commit after this read sends its own notice: only a full page implies that there is more.
          if (characters < FEED_BUDGET && reading.get(runId) !== true) break
        }
        // Synchronous after the check above: no notice arrives in between.
        reading.delete(runId)
      })

      const onRun = (runId: RunId, sessionId: string | undefined): void => {
        if (reading.has(runId)) {
          reading.set(runId, true)
          return
        }
        if (!followers.has(runId) && (sessionId === undefined || !followers.has(sessionId))) return
        reading.set(runId, false)
        const distributing = distribute(runId, sessionId).pipe(
          // Each follower reads by itself, and closes if that fails too.
          Effect.catchCause(() =>
            Effect.sync(() => {
              reading.delete(runId)
              for (const follower of followersOf(runId, sessionId)) follower.wake()
            })
          )
        )
        Fiber.runIn(Effect.runForkWith(services)(distributing), scope)
      }

      log.onGrown((growth) => passOn(growth, reading, followersOf))
      notices.follow({
        onNotice: (kind, payload, isOwn) => {
          if (kind !== "run" || isOwn) return
          const [runId, sessionId] = payload.split(" ", 2)
          // Only `RunLog` writes to this channel.
          onRun(runId as RunId, sessionId)
        },
        onMissed: () => {
          for (const each of followers.values()) for (const follower of each) follower.wakeAll()
        }
      })

      return RunFeeds.of({
        follow: (id, follower) => {
          const others = followers.get(id) ?? new Set<FeedFollower>()
          followers.set(id, others.add(follower))
          return () => {
            others.delete(follower)
            if (others.size === 0 && followers.get(id) === others) followers.delete(id)
          }
        }
      })
    })
  )
}

/** Characters that are read at a time. */
const FEED_BUDGET = 262_144

/** What this Hub has appended is passed on as it is, unless the log is being read: that read or the next one finds it. */
const passOn = (
  { batches, runId, sessionId }: LogGrowth,
  reading: Map<RunId, boolean>,
  followersOf: (runId: RunId, sessionId: string | undefined) => ReadonlyArray<LogFollower>
): void => {
  if (reading.has(runId)) return void reading.set(runId, true)
  for (const follower of followersOf(runId, sessionId)) for (const batch of batches) follower.receive(batch)
}
