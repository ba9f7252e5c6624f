/** The folder whose changes a run's diff shows. */
import { ChangesUnknown } from "@corral/domain/errors/Failures"
import type { Run } from "@corral/domain/run/Run"
import { Effect } from "effect"
import type { Workspaces } from "./Workspaces.ts"
import type { Worktrees } from "./Worktrees.ts"

interface DiffFolders {
  readonly workspaces: Workspaces["Service"]
  readonly worktrees: Worktrees["Service"]
}

/** Real path of the run's folder. Fails if the run has ended, and its changes are unknown. */
export const diffFolder = Effect.fn("DiffFolder.diffFolder")(function* (
  { workspaces, worktrees }: DiffFolders,
  run: Run
) {
  if (run.changesUnknown !== undefined) return yield* new ChangesUnknown({ details: run.changesUnknown })
  const workspace = yield* workspaces.open(run.workspace)
  return run.worktree === undefined ? workspace.path : worktrees.pathOf(run.worktree)
})
