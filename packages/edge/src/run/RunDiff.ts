/** The folder whose changes a run's diff shows. */
import type { RunId } from "@corral/domain/identity/Ids"
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import type { Workspaces } from "../workspace/Workspaces.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"
import type { RunSupervisor } from "./RunSupervisor.ts"

export interface DiffServices {
  readonly runs: RunSupervisor["Service"]
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
}

/** Real path of the run's folder. Fails if the run has ended, and its changes are unknown. */
export const diffFolder = Effect.fn("RunDiff.folder")(function* (
  { runs, workspaces, worktrees }: DiffServices,
  id: RunId
) {
  const run = yield* runs.get(id)
  if (run.changesUnknown !== undefined) return yield* new ChangesUnknown({ details: run.changesUnknown })
  const workspace = yield* workspaces.open(run.workspace)
  return run.worktree === undefined ? workspace.path : worktrees.pathOf(run.worktree)
})
