/** Exit of a fiber, or `undefined` after `millis`. A timer and an observer: a timeout of Effect would start two fibers for each request. */
import { Effect, type Exit, type Fiber } from "effect"

export const exitWithin = <A, E>(
  fiber: Fiber.Fiber<A, E>,
  millis: number
): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.callback((resume) => {
    const timer = setTimeout(() => resume(Effect.undefined), Math.max(0, millis))
    const removeObserver = fiber.addObserver((exit) => {
      clearTimeout(timer)
      resume(Effect.succeed(exit))
    })
    return Effect.sync(() => {
      clearTimeout(timer)
      removeObserver()
    })
  })
