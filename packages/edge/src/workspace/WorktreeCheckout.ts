/**
 * Checkout of one worktree: creates it, finds unsaved work, saves that work as a commit, and removes the worktree.
 *
 * It is an ordinary worktree of the workspace's repository, so that the agent can use git in it. Filters do not run: a file under LFS is
 * checked out as its pointer.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { makeFolder } from "@corral/service/MakeFolder"
import { Effect, Semaphore } from "effect"
import { chmodSync, existsSync, lstatSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { removeFolder } from "../process/TemporaryFolder.ts"
import { GitFailed } from "./Git.ts"
import { attemptFiles, WorktreeGit, type WorktreePlace } from "./WorktreeGit.ts"

export const branchOf = (runId: RunId): string => `corral/${runId}`
export const savedRefOf = (runId: RunId): string => `refs/corral/${runId}`

/** Work that a removal would lose. */
export interface WorktreeWork {
  readonly head: string
  /** The newest commit of the worktree's branch, if the branch exists. */
  readonly tip?: string
  readonly uncommitted: boolean
  readonly unmerged: boolean
}

const GITLINK = "160000"
/** One git at a time adds, removes or lists worktrees: git fails if another worktree changes meanwhile. */
const worktreeLock = Semaphore.makeUnsafe(1)
/** Files of unfinished git operations. */
const unfinishedOperations = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]

export class WorktreeCheckout {
  private readonly runId: RunId
  private readonly place: WorktreePlace
  private readonly git: WorktreeGit
  /** Git directory of the worktree. */
  private readonly gitDir: string
  private readonly branch: string

  constructor(runId: RunId, place: WorktreePlace) {
    this.runId = runId
    this.place = place
    this.git = new WorktreeGit(place)
    this.gitDir = join(place.repository, "worktrees", runId)
    this.branch = `refs/heads/${branchOf(runId)}`
  }

  /** Checks out a commit on a separate branch. `remove` cleans up after a failure. */
  create(base: string): Effect.Effect<void, GitFailed> {
    const { folder } = this.place
    const add = ["worktree", "add", "-q", "--no-checkout", "-b", branchOf(this.runId), folder, base]
    return attemptFiles(() => makeFolder(dirname(folder))).pipe(
      Effect.andThen(worktreeLock.withPermit(this.git.ask(add))),
      Effect.andThen(attemptFiles(() => chmodSync(folder, 0o700))),
      Effect.andThen(this.git.onFiles(join(this.gitDir, "index"), ["read-tree", "--reset", "-u", base])),
      Effect.asVoid
    )
  }

  /** Unsaved work. Files are compared by content, because an index can mark a file as unchanged. */
  get work(): Effect.Effect<WorktreeWork, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const head = yield* this.head
      const tip = yield* this.git.ask(["rev-parse", "--verify", "-q", `${this.branch}^{commit}`], {
        accept: [0, 1]
      })
      const changed = yield* this.git.withIndexOf(head, (index) => this.changed(index))
      const staged = yield* this.git.onFiles(
        join(this.gitDir, "index"),
        ["diff-index", "--cached", "--name-only", "--ignore-submodules=dirty", head],
        [0, 1]
      )
      const isUnfinished = unfinishedOperations.some((name) => existsSync(join(this.gitDir, name)))
      const hasRepositories = yield* this.hasRepositories(head, changed)
      const starts = tip === "" ? [head] : [head, tip]
      const otherRefs = ["--not", `--exclude=${branchOf(this.runId)}`, "--branches", "--tags", "--remotes"]
      const unmerged = yield* this.git.ask(["rev-list", "-1", ...starts, ...otherRefs])
      return {
        head,
        ...(tip === "" ? {} : { tip }),
        uncommitted: isUnfinished || changed.length > 0 || staged.bytes.length > 0 || hasRepositories,
        unmerged: unmerged !== ""
      }
    })
  }

  /** Saves all files that git does not ignore as a commit, under the run's ref. Fails for nested repositories, which a commit cannot contain. */
  save({ head, tip }: WorktreeWork, unixSeconds: number): Effect.Effect<void, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const tree = yield* this.git.withIndexOf(head, (index) =>
        Effect.gen({ self: this }, function* () {
          if (yield* this.hasRepositories(head, yield* this.changed(index))) return yield* hasNestedRepository
          yield* this.git.onFiles(index, ["add", "-A", "--", "."])
          return yield* this.git.treeOf(index)
        })
      )
      // During a merge the index has no tree. The files are saved in any case.
      const staged = yield* Effect.orElseSucceed(this.git.treeOf(join(this.gitDir, "index")), () => tree)
      const commit = (treeId: string, parents: ReadonlyArray<string>, message: string) =>
        this.git.ask(["commit-tree", treeId, ...parents.flatMap((parent) => ["-p", parent]), "-m", message], {
          env: identityAt(unixSeconds)
        })
      const heads = tip === undefined || tip === head ? [head] : [head, tip]
      // Staged content is a separate parent, as in a stash.
      const parents = staged === tree ? heads : [...heads, yield* commit(staged, [head], "What was staged")]
      const saved = yield* commit(tree, parents, `The worktree of ${this.runId} before it was removed`)
      yield* this.git.ask(["update-ref", savedRefOf(this.runId), saved])
    })
  }

  /** Removes the worktree. Removes its branch if that is at a saved commit and not checked out elsewhere. Returns whether the branch stays. */
  remove(saved: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    const { folder, repository } = this.place
    return Effect.gen({ self: this }, function* () {
      yield* Effect.mapError(removeFolder(folder), (message) => new GitFailed({ message }))
      // The repository was removed, and the branch with it.
      if (!existsSync(repository)) return false
      const format = "--format=%(objectname) %(worktreepath)"
      const removeGitDir = attemptFiles(() => this.removeGitDir())
      const line = yield* worktreeLock.withPermit(
        Effect.andThen(removeGitDir, this.git.ask(["for-each-ref", format, this.branch]))
      )
      const [tip = "", elsewhere = ""] = split(line)
      if (tip === "") return false
      if (elsewhere !== "" || !saved.includes(tip)) return true
      yield* this.git.ask(["update-ref", "-d", this.branch, tip])
      return false
    })
  }

  private removeGitDir(): void {
    const parent = dirname(this.gitDir)
    if (lstatSync(parent, { throwIfNoEntry: false })?.isDirectory() !== true) return
    rmSync(this.gitDir, { recursive: true, force: true })
    try {
      rmdirSync(parent)
    } catch {
      // There are other worktrees.
    }
  }

  private get head(): Effect.Effect<string, GitFailed> {
    return this.git.ask(["rev-parse", "--verify", "-q", "HEAD^{commit}"], { gitDir: this.gitDir })
  }

  /** Paths that differ from an index, one character per byte. A path that ends in `/` is an untracked repository. */
  private changed(index: string): Effect.Effect<ReadonlyArray<string>, GitFailed> {
    const options = ["--others", "--modified", "--deleted", "--exclude-standard"]
    return Effect.map(this.git.onFiles(index, ["ls-files", "-z", ...options]), ({ bytes }) =>
      records(bytes.toString("latin1"))
    )
  }

  /** Whether the worktree contains another repository. Its work is not examined, because git would run with that repository's settings. */
  private hasRepositories(head: string, changed: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    if (changed.some((path) => path.endsWith("/"))) return Effect.succeed(true)
    const hasGitDir = (path: string) =>
      existsSync(Buffer.concat([Buffer.from(`${this.place.folder}/`), Buffer.from(`${path}/.git`, "latin1")]))
    return Effect.map(this.git.ask(["ls-tree", "-r", "-z", head]), (listed) =>
      records(listed).some(
        (record) => record.startsWith(GITLINK) && hasGitDir(record.slice(record.indexOf("\t") + 1))
      )
    )
  }
}

const records = (output: string): ReadonlyArray<string> =>
  output.split("\0").filter((record) => record !== "")

const split = (line: string): ReadonlyArray<string> => {
  const at = line.indexOf(" ")
  return at === -1 ? [line] : [line.slice(0, at), line.slice(at + 1)]
}

const hasNestedRepository = new GitFailed({ message: "it holds another repository" })

const identityAt = (unixSeconds: number): Record<string, string> => {
  const of = (who: string) => ({
    [`GIT_${who}_NAME`]: "Corral",
    [`GIT_${who}_EMAIL`]: "corral@localhost",
    [`GIT_${who}_DATE`]: `@${unixSeconds} +0000`
  })
  return { ...of("AUTHOR"), ...of("COMMITTER") }
}
