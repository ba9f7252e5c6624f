/**
 * Plan of a worktree: whether a workspace can have one, and its starting commit. Creates nothing.
 *
 * The whole repository must be in the workspace, because a worktree hands its commits to that repository, and other folders are not on the allowlist.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { WorktreeStart } from "@corral/domain/run/Worktree"
import { Clock, Effect } from "effect"
import { join, resolve } from "node:path"
import type { Write } from "../store/Store.ts"
import { leftOutOf } from "./Checkout.ts"
import { gitFolderOf } from "./GitFolder.ts"
import { mayBorrowForRun } from "./NewRepository.ts"
import { isWithin } from "./PathContainment.ts"
import { readWorkspaceRepository } from "./WorkspaceRepository.ts"
import { branchOf } from "./WorktreeCheckout.ts"
import { plansStore, WorktreeGit } from "./WorktreeGit.ts"
import { putRow, type WorktreeRow } from "./WorktreeRows.ts"

export interface PlannedWorktree {
  readonly start: WorktreeStart
  /** Row that must be durable with the run, before anything is created. */
  readonly row: Write
}

export interface PlanOptions {
  readonly owner: RunId
  readonly workspace: WorkspaceId
  /** Real path of the workspace. */
  readonly root: string
  /** Real path of the Edge's own folder. */
  readonly home: string
  /** Absolute path of git. */
  readonly program: string | undefined
}

/** Why there is no worktree of a repository that a live run has made. */
export const BORROWS_FOR_RUN =
  "A live run has made this repository, and it borrows the objects of another one. Wait until that run has ended."

const refuse = (message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path: "isolation", message }] } }))

export const planWorktree = Effect.fn("WorktreePlan.plan")(function* ({
  home,
  owner,
  program,
  root,
  workspace
}: PlanOptions): Effect.fn.Return<PlannedWorktree, SchemaValidationFailed> {
  const found = gitFolderOf(root)
  if (found === undefined)
    return yield* refuse("A worktree needs a workspace that is the root of a git repository.")
  if (!found.inside) return yield* refuse("The workspace's repository is not wholly inside the workspace.")
  if (mayBorrowForRun(home, found.common)) return yield* refuse(BORROWS_FOR_RUN)
  if (isWithin(root, resolve(home)))
    return yield* refuse("The Edge's own folder lies in this workspace: a worktree would, too.")
  if (program === undefined)
    return yield* refuse("A worktree needs git, which is not installed where this Edge runs.")
  const repository = found.common
  const facts = readWorkspaceRepository(repository)
  const store = plansStore(home, facts.format)
  const objects = join(repository, "objects")
  const git = new WorktreeGit({
    program,
    repository,
    folder: root,
    store,
    objects,
    facts,
    // A plan has no repository of a run.
    runRepository: store,
    isolation: (command) => command
  })
  const head = git.ask(["rev-parse", "--verify", "-q", "HEAD^{commit}"])
  const base = yield* Effect.orElseSucceed(head, () => "")
  if (!/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(base))
    return yield* refuse("The workspace has no commit that could be checked out.")
  const leftOut = yield* leftOutOf(git, repository, base)
  const common = { runId: owner, base, ...(leftOut === undefined ? {} : { leftOut }) }
  const row: WorktreeRow = {
    ...common,
    workspace,
    state: "making",
    repository,
    branch: branchOf(owner),
    createdAt: new Date(yield* Clock.currentTimeMillis).toISOString()
  }
  return { start: { ...common, branch: branchOf(owner) }, row: putRow(row) }
})
