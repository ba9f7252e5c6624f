/**
 * Tables of handlers with one entry for each event type. A missing entry is a type error.
 *
 * Each client has one such table. `scripts/newEventType.soak.test.ts` checks that a new type causes errors in all tables and nowhere else.
 */
import type { EventOf, EventType, RunEvent } from "./RunEvent.ts"

/** One function for each event type. */
export type EventHandlers<Target, Result> = {
  readonly [T in EventType]: (target: Target, event: EventOf<T>) => Result
}

/** Calls the function of the event's type. */
export const handleEvent = <Target, Result>(
  handlers: EventHandlers<Target, Result>,
  target: Target,
  event: RunEvent
): Result =>
  // The function and the event have the same type; TypeScript does not follow the indexed union.
  (handlers[event.type] as (target: Target, event: RunEvent) => Result)(target, event)
