/** A long calculation in short steps, between which the Edge does other work. */
import { Effect } from "effect"

/** Steps before other work. */
const STEPS = 8

/** The result. An interruption ends the calculation. */
export const inSteps = <A>(steps: Generator<undefined, A, undefined>): Effect.Effect<A> =>
  Effect.gen(function* () {
    for (;;) {
      for (let step = 0; step < STEPS; step++) {
        const { done, value } = steps.next()
        if (done === true) return value
      }
      yield* Effect.yieldNow
    }
  }).pipe(Effect.ensuring(Effect.sync(() => void steps.return(undefined as never))))
