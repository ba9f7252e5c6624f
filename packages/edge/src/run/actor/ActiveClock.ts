/** Timeout whose clock is paused while an approval is pending. */
import { Clock, Effect, Fiber } from "effect"

/**
 * Returns the function that starts (`true`) or pauses (`false`) the clock. Calls `onTimeout` once, after `budgetMs` of running time. Ends
 * with the scope.
 */
export const makeActiveClock = Effect.fnUntraced(function* (budgetMs: number, onTimeout: () => void) {
  const clock = yield* Clock.Clock
  let left = budgetMs
  let since = 0
  let timer: Fiber.Fiber<void> | undefined
  let over = false
  const timeOut = Effect.sync(() => {
    over = true
    onTimeout()
  })
  // A plain function: each waiting run holds it, and one of `Effect.fn` has a dictionary of properties.
  return (run: boolean) =>
    Effect.gen(function* () {
      if (over || run === (timer !== undefined)) return
      if (timer !== undefined) {
        yield* Fiber.interrupt(timer)
        timer = undefined
        left -= clock.currentTimeMillisUnsafe() - since
        return
      }
      since = clock.currentTimeMillisUnsafe()
      timer = yield* Effect.forkScoped(Effect.andThen(Effect.sleep(Math.max(left, 0)), timeOut))
    })
})
