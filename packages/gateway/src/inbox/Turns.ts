/**
 * Whose turn it is. A chat has one turn in the queue at most, for its oldest event that is not done: so its events are done one after the
 * other, whoever works, and a chat that waits holds up no other.
 */
import { Effect, Schedule, Schema } from "effect"
import { PersistedQueue } from "effect/persistence"

export const Turn = Schema.Struct({ chat: Schema.Int, position: Schema.Int })
export type Turn = typeof Turn.Type

/** 1 s, doubled up to 5 minutes. */
const waits = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("5 minutes")])

/** What may be too often is decided by who works: a turn that the queue gave up would end its chat. */
const NEVER = 2_000_000_000

export const turnQueue = PersistedQueue.make({
  name: "turns",
  schema: Turn,
  maxAttempts: NEVER,
  retrySchedule: waits
}).pipe(Effect.provide(PersistedQueue.layer))

/** The same turn is in the queue once, even after it is over. */
export const turnId = ({ chat, position }: Turn): string => `${chat}:${position}`
