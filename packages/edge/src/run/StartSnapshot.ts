/**
 * Snapshot of the folder of one run at its start. For a run that starts at once, it is taken while the run is stored, because the prompt waits
 * for both.
 *
 * Guarantees: a snapshot that was taken before the run had to wait in the queue is taken again.
 */
import { Effect, Fiber } from "effect"

export class StartSnapshot {
  readonly #take: Effect.Effect<void>
  #early: Fiber.Fiber<void> | undefined

  constructor(take: Effect.Effect<void>) {
    this.#take = take
  }

  /** Begins to take it. Detached, because the request that creates the run ends before. */
  readonly begin: Effect.Effect<void> = Effect.suspend(() =>
    Effect.map(Effect.forkDetach(this.#take, { startImmediately: true }), (fiber) => {
      this.#early = fiber
    })
  )

  /** The run waits, or does not start: what was begun is of no use. Succeeds when it has ended. */
  readonly discard: Effect.Effect<void> = Effect.suspend(() => {
    const early = this.#early
    this.#early = undefined
    return early === undefined ? Effect.void : Effect.asVoid(Fiber.interrupt(early))
  })

  /** Succeeds when it is taken. */
  readonly taken: Effect.Effect<void> = Effect.suspend(() =>
    this.#early === undefined ? this.#take : Effect.onInterrupt(Fiber.join(this.#early), () => this.discard)
  )
}
