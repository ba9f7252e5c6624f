/**
 * Commits of a live run in a worktree: handed over when a turn ends. When a further turn starts, the run receives the refs of its workspace.
 *
 * Guarantees: the event path only compares two values. The end of the run hands over again, when no process of it is alive (`RunWorkspace`).
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { RunId } from "@corral/domain/identity/Ids"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import type { RunState } from "@corral/domain/run/RunState"
import { Effect, Latch } from "effect"
import type { Worktrees } from "../workspace/Worktrees.ts"

/** The notice of commits that did not reach the workspace. */
export const handOverNotice = (text: string): AdapterEvent => draft("run.notice", { kind: "warning", text })

export class TurnCommits {
  readonly #worktrees: Pick<Worktrees["Service"], "handOver" | "refresh">
  readonly #owner: RunId
  readonly #due = Latch.makeUnsafe(false)
  #last: Pick<RunState, "isIdle" | "turn"> | undefined
  #hasEnded = false
  #hasStarted = false

  /** `owner`: the run that owns the worktree. */
  constructor(worktrees: Pick<Worktrees["Service"], "handOver" | "refresh">, owner: RunId) {
    this.#worktrees = worktrees
    this.#owner = owner
  }

  /** Compares the state of the run with that of the last batch. */
  observe({ isIdle, turn }: RunState): void {
    const last = this.#last
    if (last !== undefined && last.isIdle === isIdle && last.turn === turn) return
    this.#last = { isIdle, turn }
    if (last === undefined) return
    this.#hasEnded ||= isIdle || last.turn !== turn
    this.#hasStarted ||= !isIdle
    this.#due.openUnsafe()
  }

  /** Hands over and refreshes after turns, and reports what a person should know. Never succeeds. */
  readonly follow = (report: (event: AdapterEvent) => void): Effect.Effect<never> =>
    Effect.gen({ self: this }, function* () {
      for (;;) {
        yield* this.#due.await
        this.#due.closeUnsafe()
        const [hasEnded, hasStarted] = [this.#hasEnded, this.#hasStarted]
        this.#hasEnded = this.#hasStarted = false
        const problem = hasEnded ? yield* this.#worktrees.handOver(this.#owner) : undefined
        if (problem !== undefined) report(handOverNotice(problem))
        if (hasStarted) yield* this.#worktrees.refresh(this.#owner)
      }
    })
}
