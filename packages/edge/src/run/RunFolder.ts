/**
 * Folder of a run: the workspace, a new worktree, or the folder of the run that it resumes. A request cannot change the folder of a resumed
 * run, because runtimes find their conversations by it.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import type { WorktreeStart } from "@corral/domain/run/Worktree"
import { Effect, type Scope } from "effect"
import type { Write } from "../store/Store.ts"
import type { Worktrees } from "../workspace/Worktrees.ts"

export interface RunFolder {
  /** Real path. The path of a new worktree does not exist yet. */
  readonly path: string
  readonly worktree?: WorktreeStart
  /** Rows to commit together with the run. */
  readonly rows: ReadonlyArray<Write>
}

/** `workspace` is the workspace's real path. Until the scope closes, no other run can use a resumed worktree. */
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
