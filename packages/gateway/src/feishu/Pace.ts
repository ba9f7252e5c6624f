/**
 * So many calls in a second about one thing, and no more: who comes too early waits, in the order of asking. It counts what this process
 * does; the platform counts everybody.
 */
import { Clock, Effect } from "effect"

/** A little more than a second: calls do not arrive as evenly as they leave. */
const WINDOW_MS = 1_050
/** Things that are remembered before those go that nobody has to wait for. */
const MANY = 1_000

/** Waits for a turn with the thing of that key. A turn that was waited for and not used is spent all the same. */
export type Pace = (key: string) => Effect.Effect<void>

export const paceOf = (perSecond: number): Pace => {
  /** The latest turns of each, at most so many as a second has. */
  const turns = new Map<string, Array<number>>()

  const tidy = (now: number) => {
    for (const [key, taken] of turns) if ((taken.at(-1) ?? 0) + WINDOW_MS <= now) turns.delete(key)
  }

  return Effect.fnUntraced(function* (key: string) {
    const now = yield* Clock.currentTimeMillis
    if (turns.size >= MANY && !turns.has(key)) tidy(now)
    const taken = turns.get(key) ?? []
    const oldest = taken.length < perSecond ? undefined : taken.shift()
    const turn = oldest === undefined ? now : Math.max(now, oldest + WINDOW_MS)
    taken.push(turn)
    turns.set(key, taken)
    if (turn > now) yield* Effect.sleep(turn - now)
  })
}
