/**
 * Rate limit per key: up to a number of calls per second. Later calls wait in order. A second is counted from when a
 * call is over, so it does not matter how long each was on its way. It counts what this process does; the platform counts everybody.
 */
import { Clock, Effect, Semaphore } from "effect"

/** A second, and what a timer may be early. */
const REST_MS = 1_010
/** Number of keys after which idle ones are dropped. */
const MANY = 1_000

interface Turns {
  /** One for each call that may be under way. */
  readonly places: Semaphore.Semaphore
  /** The times at which the free slots are ready, earliest first. */
  readonly rested: Array<number>
  /** Calls that wait or are under way. */
  users: number
}

/** Makes a call about the thing of that key, when it may be made. */
export type Pace = (key: string) => <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export const paceOf = (perSecond: number): Pace => {
  const all = new Map<string, Turns>()

  const tidy = (now: number) => {
    for (const [key, { rested, users }] of all)
      if (users === 0 && rested.every((at) => at <= now)) all.delete(key)
  }

  const turnsOf = (key: string, now: number): Turns => {
    const known = all.get(key)
    if (known !== undefined) return known
    if (all.size >= MANY) tidy(now)
    const places = Semaphore.makeUnsafe(perSecond)
    const turns = { places, rested: Array.from({ length: perSecond }, () => 0), users: 0 }
    all.set(key, turns)
    return turns
  }

  const until = (at: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => (at > now ? Effect.sleep(at - now) : Effect.void))
  const leave = (turns: Turns) =>
    Effect.map(Clock.currentTimeMillis, (now) => void turns.rested.push(now + REST_MS))

  return (key) => (call) =>
    Effect.gen(function* () {
      const turns = turnsOf(key, yield* Clock.currentTimeMillis)
      turns.users += 1
      // A call takes the slot that is ready first, and returns it with the time when it is ready again.
      const rested = Effect.acquireUseRelease(
        Effect.sync(() => turns.rested.shift() ?? 0),
        (at) => Effect.andThen(until(at), call),
        () => leave(turns)
      )
      return yield* turns.places
        .withPermit(rested)
        .pipe(Effect.ensuring(Effect.sync(() => void (turns.users -= 1))))
    })
}
