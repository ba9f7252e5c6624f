/** Changes of a layer, for the change set of its runs. */
import type { RunActive } from "@corral/domain/errors/Failures"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { Effect, type Scope } from "effect"
import { changeSetIdOf } from "../change/ChangeIds.ts"
import type { ChangeSource } from "../change/ChangeSource.ts"
import { type LayerStates, unknownChanges } from "./LayerStates.ts"
import type { LayerWork } from "./LayerWork.ts"

export interface LayerSourceOptions {
  readonly work: LayerWork
  readonly states: LayerStates
  /** Runs that worked in it, oldest first. */
  readonly runs: ChangeSource["runs"]
  readonly commits: Effect.Effect<ReadonlyArray<WorktreeCommit>>
  /** Reserves the layer until the scope closes. */
  readonly reserve: Effect.Effect<void, RunActive, Scope.Scope>
}

/** Whether there is a first run. */
export const hasFirst = (runs: ReadonlyArray<Run>): runs is ChangeSource["runs"] => runs.length > 0

export const sourceOfLayer = ({ commits, reserve, runs, states, work }: LayerSourceOptions): ChangeSource => {
  const { incomplete, owner, root, workspace } = work.row
  return {
    setId: changeSetIdOf(owner),
    owner,
    isolation: "overlay",
    workspace,
    root,
    runs,
    direct: false,
    shadow: states.shadow,
    base: Effect.mapError(
      Effect.map(work.base, (tree) => ({ tree, leftOut: incomplete })),
      unknownChanges
    ),
    result: Effect.mapError(work.result, unknownChanges),
    // Of a live run, the stored result does not say which of its files git ignores.
    ignored: runs.every(({ state }) => isTerminal(state))
      ? work.exclusive(Effect.sync(() => states.ignored))
      : Effect.succeed([]),
    commits,
    reserve,
    withFiles: (use) =>
      Effect.scoped(
        Effect.flatMap(Effect.mapError(work.view("read"), unknownChanges), (view) => use(work.topOf(view)))
      ),
    withView: (use) =>
      work
        .written((top) => Effect.result(use(top)))
        .pipe(Effect.mapError(unknownChanges), Effect.flatMap(Effect.fromResult))
  }
}
