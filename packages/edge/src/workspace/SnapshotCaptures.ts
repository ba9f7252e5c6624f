/**
 * Captures of workspaces that may outlast those who wait for them. A capture that takes too long continues, so that the next one starts from its result.
 *
 * Guarantees: at most one capture of a workspace continues without anyone who waits; a capture that starts meanwhile waits for it. An
 * interruption of the one who waits ends the capture. All end with the scope.
 */
import { type Duration, Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { SnapshotView } from "./CaptureInProgress.ts"
import { GitFailed } from "./Git.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"
import { type Captured, captureState } from "./SnapshotCapture.ts"

const late = new GitFailed({ message: "the workspace was not read in time", end: "slow" })

/** A capture that is not of the workspace's folder, or may take longer. */
export interface CaptureOptions {
  readonly limit?: Duration.Input | undefined
  readonly view?: SnapshotView | undefined
}

export class SnapshotCaptures {
  readonly #scope: Scope.Scope
  readonly #limit: Duration.Input
  /** By the roots of workspaces, and the names of views. */
  readonly #continued = new Map<string, Fiber.Fiber<unknown, unknown>>()

  constructor(scope: Scope.Scope, limit: Duration.Input) {
    this.#scope = scope
    this.#limit = limit
  }

  /** Writes the current state into the index file `index`, if it is read in time. */
  take(
    shadow: ShadowRepository,
    index: string,
    { limit = this.#limit, view }: CaptureOptions = {}
  ): Effect.Effect<Captured, GitFailed> {
    return Effect.suspend(() => {
      let target: string | undefined = index
      const key = view === undefined ? shadow.root : `${shadow.root} ${view.name}`
      const earlier = this.#continued.get(key)
      const work = captureState(shadow, () => target, view)
      return Effect.gen({ self: this }, function* () {
        const fiber = yield* Effect.forkIn(
          earlier === undefined ? work : Effect.andThen(Fiber.await(earlier), work),
          this.#scope,
          { startImmediately: true }
        )
        const exit = yield* Fiber.await(fiber).pipe(
          Effect.timeoutOption(limit),
          Effect.onInterrupt(() => Fiber.interrupt(fiber))
        )
        if (Option.isSome(exit))
          return yield* Exit.isSuccess(exit.value) ? exit.value : Effect.failCause(exit.value.cause)
        target = undefined
        // What shows a view ends with its user.
        if (view === undefined) this.#continue(key, earlier, fiber)
        else yield* Fiber.interrupt(fiber)
        return yield* late
      })
    })
  }

  /** One that waited for another only ends: the other one has the result. */
  #continue(
    key: string,
    earlier: Fiber.Fiber<unknown, unknown> | undefined,
    fiber: Fiber.Fiber<unknown, unknown>
  ): void {
    if (earlier !== undefined && this.#continued.get(key) === earlier) return fiber.interruptUnsafe()
    this.#continued.set(key, fiber)
    fiber.addObserver(() => {
      if (this.#continued.get(key) === fiber) this.#continued.delete(key)
    })
  }
}
