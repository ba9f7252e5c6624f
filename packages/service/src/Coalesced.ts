/**
 * Wake-ups of one worker. Those that arrive during a pass cause one more pass, however many they are.
 *
 * Guarantees: a wake-up is not lost: a pass begins after it. `wake` never waits.
 * Does not: carry data. A pass looks for what is due by itself.
 */
import { type Cause, Effect, Queue, type Scope } from "effect"

export class Coalesced {
  private readonly due: Queue.Queue<void>

  private constructor(due: Queue.Queue<void>) {
    this.due = due
    this.woken = Queue.take(due)
  }

  static readonly make: Effect.Effect<Coalesced> = Effect.map(
    Queue.sliding<void>(1),
    (due) => new Coalesced(due)
  )

  readonly wake = (): void => void Queue.offerUnsafe(this.due, undefined)

  /** Succeeds once for the wake-ups since it succeeded last. */
  readonly woken: Effect.Effect<void>

  /** Runs a pass for the wake-ups so far, again and again until the scope closes. After a failed pass, the next wake-up causes another. */
  run<E, R>(
    pass: Effect.Effect<void, E, R>,
    onFailure: (cause: Cause.Cause<E>) => Effect.Effect<void>
  ): Effect.Effect<void, never, R | Scope.Scope> {
    return this.woken.pipe(
      Effect.andThen(pass),
      Effect.catchCause(onFailure),
      Effect.forever,
      Effect.forkScoped,
      Effect.asVoid
    )
  }
}
