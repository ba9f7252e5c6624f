/**
 * Rate limiter per key: up to a number of calls per second. Later calls wait in order. A slot is free again a second after its call ended, so
 * network delays do not matter.
 *
 * Does not: count the calls of other processes.
 */
import { Clock, Effect, Semaphore } from "effect"

/** A second, with a margin for timers that fire early. */
const REST_MS = 1_010
/** Number of keys after which idle ones are deleted. */
const MAX_KEYS = 1_000

interface Slots {
  /** One permit per slot. */
  readonly permits: Semaphore.Semaphore
  /** The times at which the free slots are ready, earliest first. */
  readonly readyAt: Array<number>
  /** Calls that wait or are in progress. */
  calls: number
}

/** Runs a call of a key once the limit allows it. */
export type RateLimiter = (key: string) => <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const makeRateLimiter = (perSecond: number): RateLimiter => {
  const slotsByKey = new Map<string, Slots>()

  const deleteIdle = (now: number) => {
    for (const [key, { calls, readyAt }] of slotsByKey)
      if (calls === 0 && readyAt.every((at) => at <= now)) slotsByKey.delete(key)
  }

  const slotsOf = (key: string, now: number): Slots => {
    const existing = slotsByKey.get(key)
    if (existing !== undefined) return existing
    if (slotsByKey.size >= MAX_KEYS) deleteIdle(now)
    const permits = Semaphore.makeUnsafe(perSecond)
    const slots = { permits, readyAt: Array.from({ length: perSecond }, () => 0), calls: 0 }
    slotsByKey.set(key, slots)
    return slots
  }

  const sleepUntil = (at: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => (at > now ? Effect.sleep(at - now) : Effect.void))
  const returnSlot = (slots: Slots) =>
    Effect.map(Clock.currentTimeMillis, (now) => void slots.readyAt.push(now + REST_MS))

  return (key) => (call) =>
    Effect.gen(function* () {
      const slots = slotsOf(key, yield* Clock.currentTimeMillis)
      slots.calls += 1
      // A call takes the slot that is ready first, and returns it with the time when it is ready again.
      const limited = Effect.acquireUseRelease(
        Effect.sync(() => slots.readyAt.shift() ?? 0),
        (at) => Effect.andThen(sleepUntil(at), call),
        () => returnSlot(slots)
      )
      return yield* slots.permits
        .withPermit(limited)
        .pipe(Effect.ensuring(Effect.sync(() => void (slots.calls -= 1))))
    })
}
