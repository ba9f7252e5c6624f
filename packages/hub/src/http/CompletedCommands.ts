/**
 * Commands to an Edge whose outcome is recorded.
 *
 * Guarantees: such a command continues if its client disconnects, so that what an Edge has done has its record.
 */
import { Effect, Fiber } from "effect"

export const completingCommands = Effect.map(
  Effect.scope,
  (scope) =>
    <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(Effect.forkIn(command, scope), Fiber.join)
)
