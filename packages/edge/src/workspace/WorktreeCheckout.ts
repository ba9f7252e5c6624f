/**
 * One worktree: checked out, looked through for work, kept as a commit, taken down.
 *
 * To git it is a worktree of the workspace's repository like any other, so that the agent finds a git that it can use there. A file that
 * git keeps through a filter (LFS) is checked out as what git keeps.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Semaphore } from "effect"
import { chmodSync, existsSync, lstatSync, mkdirSync, rmdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { removeFolder } from "../process/TemporaryFolder.ts"
import { GitFailed } from "./Git.ts"
import { attemptFiles, WorktreeGit, type WorktreePlace } from "./WorktreeGit.ts"

export const branchOf = (runId: RunId): string => `corral/${runId}`
export const keptRefOf = (runId: RunId): string => `refs/corral/${runId}`

/** What taking it down would lose. */
export interface WorktreeWork {
  readonly head: string
  /** The newest commit of its branch, where there is one. */
  readonly tip?: string
  readonly uncommitted: boolean
  readonly unmerged: boolean
}

const GITLINK = "160000"
/** A git that adds or lists worktrees fails where it meets one that another is adding or removing. */
const registry = Semaphore.makeUnsafe(1)
/** Traces of something that git was in the middle of. */
const unfinished = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]

export class WorktreeCheckout {
  private readonly runId: RunId
  private readonly place: WorktreePlace
  private readonly git: WorktreeGit
  /** What the repository knows of the worktree. */
  private readonly own: string
  private readonly branch: string

  constructor(runId: RunId, place: WorktreePlace) {
    this.runId = runId
    this.place = place
    this.git = new WorktreeGit(place)
    this.own = join(place.repository, "worktrees", runId)
    this.branch = `refs/heads/${branchOf(runId)}`
  }

  /** Checks out that commit on a separate branch. `remove` cleans up after a failure. */
  make(base: string): Effect.Effect<void, GitFailed> {
    const { folder } = this.place
    const add = ["worktree", "add", "-q", "--no-checkout", "-b", branchOf(this.runId), folder, base]
    return attemptFiles(() => mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })).pipe(
      Effect.andThen(registry.withPermit(this.git.ask(add))),
      Effect.andThen(attemptFiles(() => chmodSync(folder, 0o700))),
      Effect.andThen(this.git.onFiles(join(this.own, "index"), ["read-tree", "--reset", "-u", base])),
      Effect.asVoid
    )
  }

  /** Compares with the commit that is checked out, by content: in an index, a file can be marked as not to be looked at. */
  get held(): Effect.Effect<WorktreeWork, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const head = yield* this.head
      const tip = yield* this.git.ask(["rev-parse", "--verify", "-q", `${this.branch}^{commit}`], {
        accept: [0, 1]
      })
      const changed = yield* this.git.withIndexOf(head, (index) => this.changed(index))
      const staged = yield* this.git.onFiles(
        join(this.own, "index"),
        ["diff-index", "--cached", "--name-only", "--ignore-submodules=dirty", head],
        [0, 1]
      )
      const isAmidst = unfinished.some((name) => existsSync(join(this.own, name)))
      const repositories = yield* this.repositories(head, changed)
      const starts = tip === "" ? [head] : [head, tip]
      const staying = ["--not", `--exclude=${branchOf(this.runId)}`, "--branches", "--tags", "--remotes"]
      const alone = yield* this.git.ask(["rev-list", "-1", ...starts, ...staying])
      return {
        head,
        ...(tip === "" ? {} : { tip }),
        uncommitted: isAmidst || changed.length > 0 || staged.bytes.length > 0 || repositories,
        unmerged: alone !== ""
      }
    })
  }

  /** All that git does not ignore as a commit of the repository, under the ref that is named for the run. Refuses what a commit cannot hold. */
  keep({ head, tip }: WorktreeWork, unixSeconds: number): Effect.Effect<void, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const tree = yield* this.git.withIndexOf(head, (index) =>
        Effect.gen({ self: this }, function* () {
          if (yield* this.repositories(head, yield* this.changed(index))) return yield* holdsOther
          yield* this.git.onFiles(index, ["add", "-A", "--", "."])
          return yield* this.git.treeOf(index)
        })
      )
      // None in the middle of a merge: then its files say it.
      const staged = yield* Effect.orElseSucceed(this.git.treeOf(join(this.own, "index")), () => tree)
      const commit = (of: string, parents: ReadonlyArray<string>, what: string) =>
        this.git.ask(["commit-tree", of, ...parents.flatMap((parent) => ["-p", parent]), "-m", what], {
          env: identityAt(unixSeconds)
        })
      const known = tip === undefined || tip === head ? [head] : [head, tip]
      // Staged content is a separate parent, as in a stash.
      const parents = staged === tree ? known : [...known, yield* commit(staged, [head], "What was staged")]
      const kept = yield* commit(tree, parents, `The worktree of ${this.runId} before it was removed`)
      yield* this.git.ask(["update-ref", keptRefOf(this.runId), kept])
    })
  }

  /** Removes the worktree, and its branch if that is at one of these commits and checked out nowhere else. Returns whether the branch stays. */
  remove(saved: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    const { folder, repository } = this.place
    return Effect.gen({ self: this }, function* () {
      yield* Effect.mapError(removeFolder(folder), (message) => new GitFailed({ message }))
      // Gone with its repository: there is nothing to tell.
      if (!existsSync(repository)) return false
      const format = "--format=%(objectname) %(worktreepath)"
      const gone = attemptFiles(() => this.removeOwn())
      const line = yield* registry.withPermit(
        Effect.andThen(gone, this.git.ask(["for-each-ref", format, this.branch]))
      )
      const [tip = "", elsewhere = ""] = split(line)
      if (tip === "") return false
      if (elsewhere !== "" || !saved.includes(tip)) return true
      yield* this.git.ask(["update-ref", "-d", this.branch, tip])
      return false
    })
  }

  private removeOwn(): void {
    const around = dirname(this.own)
    if (lstatSync(around, { throwIfNoEntry: false })?.isDirectory() !== true) return
    rmSync(this.own, { recursive: true, force: true })
    try {
      rmdirSync(around)
    } catch {
      // Others are there.
    }
  }

  private get head(): Effect.Effect<string, GitFailed> {
    return this.git.ask(["rev-parse", "--verify", "-q", "HEAD^{commit}"], { gitDir: this.own })
  }

  /** Paths, one character a byte, that are not as that index says; a repository that is in none ends in `/`. */
  private changed(index: string): Effect.Effect<ReadonlyArray<string>, GitFailed> {
    const what = ["--others", "--modified", "--deleted", "--exclude-standard"]
    return Effect.map(this.git.onFiles(index, ["ls-files", "-z", ...what]), ({ bytes }) =>
      records(bytes.toString("latin1"))
    )
  }

  /** Whether another repository is in it: what lies there is not ours to judge, and a git that looked would do so by its settings. */
  private repositories(head: string, changed: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    if (changed.some((path) => path.endsWith("/"))) return Effect.succeed(true)
    const isThere = (path: string) =>
      existsSync(Buffer.concat([Buffer.from(`${this.place.folder}/`), Buffer.from(`${path}/.git`, "latin1")]))
    return Effect.map(this.git.ask(["ls-tree", "-r", "-z", head]), (listed) =>
      records(listed).some(
        (record) => record.startsWith(GITLINK) && isThere(record.slice(record.indexOf("\t") + 1))
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

const holdsOther = new GitFailed({ message: "it holds another repository" })

const identityAt = (unixSeconds: number): Record<string, string> => {
  const of = (who: string) => ({
    [`GIT_${who}_NAME`]: "Corral",
    [`GIT_${who}_EMAIL`]: "corral@localhost",
    [`GIT_${who}_DATE`]: `@${unixSeconds} +0000`
  })
  return { ...of("AUTHOR"), ...of("COMMITTER") }
}
