/** A timeout whose clock stands while a person is asked. */
import { Clock, Effect, Fiber } from "effect"

/**
 * Gives the function that lets the clock run (`true`) or stand (`false`); `onTimeout` is called once, when `budgetMs` of running time
 * are used up. Ends with the scope.
 */
export const makeActiveClock = Effect.fnUntraced(function* (budgetMs: number, onTimeout: () => void) {
  const clock = yield* Clock.Clock
  let left = budgetMs
  let since = 0
  let timer: Fiber.Fiber<void> | undefined
  let over = false
  return Effect.fnUntraced(function* (run: boolean) {
    if (over || run === (timer !== undefined)) return
    if (timer !== undefined) {
      yield* Fiber.interrupt(timer)
      timer = undefined
      left -= clock.currentTimeMillisUnsafe() - since
      return
    }
    since = clock.currentTimeMillisUnsafe()
    timer = yield* Effect.forkScoped(
      Effect.sleep(Math.max(left, 0)).pipe(
        Effect.andThen(
          Effect.sync(() => {
            over = true
            onTimeout()
          })
        )
      )
    )
  })
})
