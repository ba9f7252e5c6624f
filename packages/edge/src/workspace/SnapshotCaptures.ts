/**
 * Captures of workspaces that may outlast those who wait for them. A capture that takes too long continues, so that the next one starts from its result.
 *
 * Guarantees: at most one capture of a workspace continues without anyone who waits; a capture that starts meanwhile waits for it. An interruption of
 * the one who waits ends the capture. All end with the scope.
 */
import { type Duration, Effect, Exit, Fiber, Option, type Scope } from "effect"
import { GitFailed } from "./Git.ts"
import { type Captured, captureState } from "./SnapshotCapture.ts"
import type { ShadowRepository } from "./ShadowRepository.ts"

const late = new GitFailed({ message: "the workspace was not read in time", end: "slow" })

export class SnapshotCaptures {
  readonly #scope: Scope.Scope
  readonly #limit: Duration.Input
  /** By the roots of workspaces. */
  readonly #continued = new Map<string, Fiber.Fiber<unknown, unknown>>()

  constructor(scope: Scope.Scope, limit: Duration.Input) {
    this.#scope = scope
    this.#limit = limit
  }

  /** Writes the current state into the index file `index`, if it is read in time. */
  take(shadow: ShadowRepository, index: string): Effect.Effect<Captured, GitFailed> {
    return Effect.suspend(() => {
      let target: string | undefined = index
      const earlier = this.#continued.get(shadow.root)
      const work = captureState(shadow, () => target)
      return Effect.gen({ self: this }, function* () {
        const fiber = yield* Effect.forkIn(
          earlier === undefined ? work : Effect.andThen(Fiber.await(earlier), work),
          this.#scope,
          { startImmediately: true }
        )
        const exit = yield* Fiber.await(fiber).pipe(
          Effect.timeoutOption(this.#limit),
          Effect.onInterrupt(() => Fiber.interrupt(fiber))
        )
        if (Option.isSome(exit))
          return yield* Exit.isSuccess(exit.value) ? exit.value : Effect.failCause(exit.value.cause)
        target = undefined
        this.#continue(shadow.root, earlier, fiber)
        return yield* late
      })
    })
  }

  /** One that waited for another only ends: the other one has the result. */
  #continue(
    root: string,
    earlier: Fiber.Fiber<unknown, unknown> | undefined,
    fiber: Fiber.Fiber<unknown, unknown>
  ): void {
    if (earlier !== undefined && this.#continued.get(root) === earlier) return fiber.interruptUnsafe()
    this.#continued.set(root, fiber)
    fiber.addObserver(() => {
      if (this.#continued.get(root) === fiber) this.#continued.delete(root)
    })
  }
}
