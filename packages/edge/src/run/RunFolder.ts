/**
 * Which folder a run is to work in: the workspace itself, a worktree that is made for it, or, where it resumes another run, the one that
 * run worked in. A runtime looks for its conversation by the folder, so that is not for the request to change.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import type { WorktreeStart } from "@corral/domain/run/Worktree"
import { Effect, type Scope } from "effect"
import type { Write } from "../store/Store.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"

export interface RunFolder {
  /** Real path; that of a worktree which is yet to be made is not there. */
  readonly path: string
  readonly worktree?: WorktreeStart
  /** What is to be on disk together with the run. */
  readonly rows: ReadonlyArray<Write>
}

/** `workspace` is the workspace's real path. Until the scope closes, no other run may enter a worktree that is resumed. */
export const folderOf = Effect.fnUntraced(function* (
  id: RunId,
  request: CreateRun,
  workspace: string,
  resumed: Run | undefined,
  worktrees: Worktrees["Service"]
): Effect.fn.Return<RunFolder, SchemaValidationFailed, Scope.Scope> {
  const { isolation = resumed?.isolation ?? "none" } = request
  if (resumed !== undefined && isolation !== (resumed.isolation ?? "none")) {
    const message = "A run that resumes another works where that one worked."
    return yield* new SchemaValidationFailed({ details: { issues: [{ path: "isolation", message }] } })
  }
  if (resumed?.worktree !== undefined) {
    const worktree = yield* worktrees.enter(resumed.worktree)
    return { path: worktrees.pathOf(resumed.worktree), worktree, rows: [] }
  }
  if (isolation === "none") return { path: workspace, rows: [] }
  const { row, start } = yield* worktrees.plan(id, request.workspace, workspace)
  return { path: worktrees.pathOf(id), worktree: start, rows: [row] }
})
