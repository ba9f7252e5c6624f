/**
 * Pauses that a platform asked for with `Retry-After`.
 *
 * Guarantees: until the pause is over, no call with the same key reaches the platform: it fails with the time that is left. Does not: wait.
 */
import { Clock, Effect } from "effect"
import { type NotSent, PlatformUnavailable } from "./ChatPlatform.ts"

/** A longer pause is cut: the platform may have sent nonsense, and it can ask again. */
const MAX_PAUSE_MS = 3_600_000
const MAX_KEYS = 10_000

/** Milliseconds of a `Retry-After` in seconds; `undefined` for a missing or invalid one. */
export const retryAfterMsOf = (seconds: unknown): number | undefined => {
  const value = typeof seconds === "string" && /^\d{1,9}$/.test(seconds) ? Number(seconds) : seconds
  return typeof value === "number" && value > 0 ? Math.min(value * 1_000, MAX_PAUSE_MS) : undefined
}

export const makeRateHold = () => {
  /** When the pause of a key is over. */
  const until = new Map<string, number>()
  return (key: string) =>
    <A, R>(call: Effect.Effect<A, NotSent | PlatformUnavailable, R>) =>
      Effect.gen(function* () {
        const left = (until.get(key) ?? 0) - (yield* Clock.currentTimeMillis)
        if (left > 0)
          return yield* new PlatformUnavailable({
            message: "The platform limited the rate of calls.",
            retryAfterMs: left
          })
        until.delete(key)
        return yield* Effect.tapError(call, (error) =>
          Effect.map(Clock.currentTimeMillis, (now) => {
            if (error._tag !== "PlatformUnavailable" || error.retryAfterMs === undefined) return
            const [oldest] = until.keys()
            if (until.size >= MAX_KEYS && oldest !== undefined) until.delete(oldest)
            until.set(key, now + error.retryAfterMs)
          })
        )
      })
}
