/**
 * Plan of a worktree: whether a workspace can have one, and its starting commit. Creates nothing.
 *
 * The whole repository must be in the workspace, because a worktree hands its commits to that repository, and other folders are not on the allowlist.
 */
import { SchemaValidationFailed } from "@corral/domain/errors/Failures"
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { LeftOut, WorktreeStart } from "@corral/domain/run/Worktree"
import { Clock, Effect } from "effect"
import { join, resolve } from "node:path"
import type { Write } from "../store/Store.ts"
import { gitFolderOf, readWorkspaceRepository, mayBorrowForRun } from "./WorkspaceRepository.ts"
import { isWithin } from "./PathText.ts"
import { branchOf } from "./WorktreeCheckout.ts"
import { WorktreeGit, plansStore } from "./WorktreeGit.ts"
import { type WorktreeRow, putRow } from "./WorktreeRows.ts"
import { copyFileSync, statSync, utimesSync } from "node:fs"
import { attemptFiles } from "./Git.ts"
import { splitZeroTerminated } from "./ShadowRepository.ts"

// Parts of a checkout that a new worktree would not have: uncommitted changes, and new files that git does not ignore.
//
// For information only: it trusts the checkout's index, which may be wrong, so that it is fast on a large repository.

const TIME_LIMIT = "10 seconds"
const PATHS = 100

/** `undefined` if there are none, or if git fails. */
const leftOutOf = (git: WorktreeGit, repository: string, head: string): Effect.Effect<LeftOut | undefined> =>
  git
    .withScratch((index) =>
      Effect.gen(function* () {
        yield* attemptFiles(() => {
          const source = join(repository, "index")
          copyFileSync(source, index)
          // Not newer than its entries, so that git checks entries that could have changed since.
          const seconds = Math.floor(statSync(source).mtimeMs / 1_000)
          utimesSync(index, seconds, seconds)
        })
        yield* git.onFiles(index, ["update-index", "-q", "--ignore-submodules", "--refresh"], [0, 1])
        const compare = ["diff-index", "-z", "--name-only", "--ignore-submodules=dirty", head]
        const others = [
          "ls-files",
          "-z",
          "--others",
          "--exclude-standard",
          "--directory",
          "--no-empty-directory"
        ]
        const changed = [
          ...splitZeroTerminated((yield* git.onFiles(index, compare)).bytes),
          ...splitZeroTerminated((yield* git.onFiles(index, others)).bytes)
        ].toSorted()
        return changed.length === 0 ? undefined : { count: changed.length, paths: changed.slice(0, PATHS) }
      })
    )
    .pipe(
      Effect.timeout(TIME_LIMIT),
      Effect.catch((cause) =>
        Effect.as(
          Effect.logWarning("failed to read uncommitted changes", { cause: cause.message }),
          undefined
        )
      )
    )

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
  /** The starting commit. Default: the one that is checked out. */
  readonly commit?: string | undefined
}

/** Why there is no worktree of a repository that a live run has made. */
export const BORROWS_FOR_RUN =
  "A live run has made this repository, and it borrows the objects of another one. Wait until that run has ended."

/** The workspace cannot have the isolation that the run wants. */
export const notIsolated = (message: string) =>
  Effect.fail(new SchemaValidationFailed({ details: { issues: [{ path: "isolation", message }] } }))

export const planWorktree = Effect.fn("WorktreePlan.plan")(function* ({
  commit = "HEAD",
  home,
  owner,
  program,
  root,
  workspace
}: PlanOptions): Effect.fn.Return<PlannedWorktree, SchemaValidationFailed> {
  const found = gitFolderOf(root)
  if (found === undefined)
    return yield* notIsolated("A worktree needs a workspace that is the root of a git repository.")
  if (!found.inside)
    return yield* notIsolated("The workspace's repository is not wholly inside the workspace.")
  if (mayBorrowForRun(home, found.common)) return yield* notIsolated(BORROWS_FOR_RUN)
  if (isWithin(root, resolve(home)))
    return yield* notIsolated("The Edge's own folder lies in this workspace: a worktree would, too.")
  if (program === undefined)
    return yield* notIsolated("A worktree needs git, which is not installed where this Edge runs.")
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
  const head = git.ask(["rev-parse", "--verify", "-q", `${commit}^{commit}`])
  const base = yield* Effect.orElseSucceed(head, () => "")
  if (!/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(base))
    return yield* notIsolated("The workspace has no commit that could be checked out.")
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
