/**
 * Snapshot of the folder of one run at its start, begun when the run's turn has come and its folder exists. It is taken while the program is
 * confined and started. The prompt waits for both.
 */
import { Effect, Fiber, type Scope } from "effect"

export class StartSnapshot {
  readonly #take: Effect.Effect<void>
  #running: Fiber.Fiber<void> | undefined

  constructor(take: Effect.Effect<void>) {
    this.#take = take
  }

  /** Begins to take it. Ends with the scope. */
  readonly begin: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() =>
    Effect.map(Effect.forkScoped(this.#take, { startImmediately: true }), (fiber) => {
      this.#running = fiber
    })
  )

  /** Succeeds when it is taken. An interruption ends it. */
  readonly taken: Effect.Effect<void> = Effect.suspend(() => {
    const running = this.#running
    return running === undefined
      ? this.#take
      : Effect.onInterrupt(Fiber.join(running), () => Fiber.interrupt(running))
  })
}
