/**
 * Checkout of one worktree, with the repository of its run: creates both, hands over what the run commits, finds unsaved work, saves that work as
 * a commit, and removes everything.
 *
 * A run in a layer has a repository without a checkout: its files are those of the layer, and its commits get a ref that is no branch.
 *
 * For the agent it is an ordinary repository that borrows the objects of the workspace's repository. Filters do not run: a file under LFS is
 * checked out as its pointer.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { WorktreeCommit } from "@corral/domain/run/Worktree"
import { Effect } from "effect"
import { chmodSync, copyFileSync, existsSync, lstatSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { makeFolder } from "@corral/service/MakeFolder"
import { removeFolder } from "../process/TemporaryFolder.ts"
import { attemptFiles, git, GitFailed } from "./Git.ts"
import {
  copyPart,
  copyRefs,
  createRunRepository,
  earlierPart,
  headOfPart,
  removePart,
  restoreRunRepository,
  type RunRepositoryPlace
} from "./RunRepository.ts"
import {
  advanceBranch,
  branchesOf,
  type CommonCommits,
  hand,
  headOf,
  isUnfinished,
  keepCommits,
  receive,
  requireReasonable,
  type RunTips,
  tipsOf,
  workspaceRefs
} from "./RunCommits.ts"
import { packedRefs, type RefTable, refsOfText } from "./RefTable.ts"
import { smallFile } from "./UntrustedFiles.ts"
import { WorktreeGit, type WorktreePlace } from "./WorktreeGit.ts"

export const branchOf = (runId: RunId): string => `corral/${runId}`
export const savedRefOf = (runId: RunId): string => `refs/corral/${runId}`
/** Ref on what a worktree borrows. */
const keepRefOf = (runId: RunId): string => `refs/corral/keep/${runId}`

/** Work that a removal would lose. */
export interface WorktreeWork {
  readonly head: string
  readonly tips: RunTips
  readonly uncommitted: boolean
  readonly unmerged: boolean
}

const RETRIES = 4
const GITLINK = "160000"
const MAX_REFS = 67_108_864
/** Parents of a commit that saves work. */
const MAX_PARENTS = 100

export class WorktreeCheckout {
  private readonly runId: RunId
  private readonly place: WorktreePlace
  private readonly git: WorktreeGit
  private readonly repository: RunRepositoryPlace
  private readonly branch: string
  /** Ref of the workspace's repository that receives what the run commits. */
  private readonly handed: string
  private readonly base: string

  constructor(runId: RunId, base: string, place: WorktreePlace) {
    this.runId = runId
    this.base = base
    this.place = place
    this.git = new WorktreeGit(place)
    this.repository = {
      folder: place.runRepository,
      checkout: place.borrowed === undefined ? place.folder : undefined,
      repository: place.repository,
      borrowed: place.borrowed
    }
    this.branch = `refs/heads/${branchOf(runId)}`
    this.handed = place.borrowed === undefined ? this.branch : savedRefOf(runId)
  }

  /** Creates the repository of a run in a layer, with the index of the workspace. */
  createInLayer(): Effect.Effect<void, GitFailed> {
    const { repository, runRepository } = this.place
    return Effect.gen({ self: this }, function* () {
      const refs = yield* this.borrowedRefs
      yield* this.git.prepared
      yield* attemptFiles(() => {
        createRunRepository(this.repository, this.branch, this.base, refs)
        this.writeCopied(refs)
        const index = join(repository, "index")
        if (lstatSync(index, { throwIfNoEntry: false })?.isFile() === true)
          copyFileSync(index, join(runRepository, "index"))
      })
    })
  }

  /** Removes the repository of a run in a layer. The ref with its commits stays. */
  get removedFromLayer(): Effect.Effect<void, GitFailed> {
    const { repository, runRepository, store } = this.place
    return Effect.gen({ self: this }, function* () {
      for (const each of [runRepository, store])
        yield* Effect.mapError(removeFolder(each), (message) => new GitFailed({ message }))
      if (existsSync(repository)) yield* this.git.deleteRef(keepRefOf(this.runId))
    })
  }

  /** Checks out the base on a separate branch. `remove` cleans up after a failure. */
  create(): Effect.Effect<void, GitFailed> {
    const { folder, runRepository } = this.place
    return Effect.gen({ self: this }, function* () {
      yield* this.git.writeRef(this.branch, this.base)
      const refs = yield* this.borrowedRefs
      yield* this.git.prepared
      yield* attemptFiles(() => {
        makeFolder(folder)
        chmodSync(folder, 0o700)
        createRunRepository(this.repository, this.branch, this.base, refs)
        this.writeCopied(refs)
      })
      yield* this.git.onFiles(join(runRepository, "index"), ["read-tree", "--reset", "-u", this.base])
    })
  }

  /** Converts a worktree of an earlier version. Does nothing for others. */
  get converted(): Effect.Effect<void, GitFailed> {
    const { repository, runRepository } = this.place
    return Effect.gen({ self: this }, function* () {
      const part = earlierPart(repository, this.runId, runRepository)
      if (part === undefined) return
      const head = yield* headOfPart(part)
      const tip = yield* this.git.ask(["rev-parse", "--verify", "-q", `${this.branch}^{commit}`], {
        accept: [0, 1]
      })
      const refs = yield* this.borrowedRefs
      yield* attemptFiles(() => {
        const incomplete = `${runRepository}.converting`
        const start = tip === "" ? this.base : tip
        createRunRepository({ ...this.repository, folder: incomplete }, this.branch, start, refs)
        copyPart(part, incomplete, head)
        renameSync(incomplete, runRepository)
        restoreRunRepository(this.repository)
        this.writeCopied(refs)
      })
      // Nothing else keeps a commit that no branch has, once the part is removed.
      yield* this.handedOver
      yield* attemptFiles(() => removePart(repository, this.runId))
    })
  }

  /** Prepares the repository for a run that continues in it: what git obeys, and the refs of the workspace. */
  get opened(): Effect.Effect<void, GitFailed> {
    return Effect.andThen(
      attemptFiles(() => restoreRunRepository(this.repository)),
      this.refreshed
    )
  }

  /** Gives the repository the refs that the workspace has now. */
  get refreshed(): Effect.Effect<void, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const refs = yield* this.borrowedRefs
      yield* attemptFiles(() => {
        copyRefs(this.repository, this.copied, this.withBranch(refs))
        this.writeCopied(refs)
      })
    })
  }

  /** Hands over what is checked out. Returns the short name of the branch that has it. */
  get handedOver(): Effect.Effect<string, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const head = (yield* headOf(this.git)) ?? this.base
      const common = yield* this.common
      yield* receive(this.git, onlyHead(head), common)
      if (head !== this.base) yield* requireReasonable(this.git, head)
      // A layer without a commit needs no ref.
      else if (this.handed !== this.branch) return this.handed
      return yield* advanceBranch(this.git, this.handed, head, common)
    })
  }

  /** Puts back what git obeys, when no process of the run is alive. */
  get settled(): Effect.Effect<void, GitFailed> {
    return attemptFiles(() => restoreRunRepository(this.repository))
  }

  /** Commits since the base, newest first. */
  commits(limit: number): Effect.Effect<ReadonlyArray<WorktreeCommit>, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const head = (yield* headOf(this.git)) ?? this.base
      yield* receive(this.git, onlyHead(head), yield* this.common)
      const format = ["-z", `--max-count=${limit}`, "--format=%H%n%aI%n%an%n%s"]
      const log = this.git.inStore(["log", ...format, head, `^${this.base}`], { maxBytes: 1_048_576 })
      const { bytes } = yield* git(log)
      return records(bytes.toString("utf8")).map((record) => {
        const [id = "", at = "", author = "", ...subject] = record.split("\n")
        return { id, at, author, subject: subject.join(" ").slice(0, 500) }
      })
    })
  }

  /** Unsaved work. Files are compared by content, because an index can mark a file as unchanged. */
  get work(): Effect.Effect<WorktreeWork, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const tips = yield* tipsOf(this.git, this.copied)
      const { head = this.base, refs, staged } = tips
      yield* receive(this.git, { ...tips, head }, yield* this.common)
      if (head !== this.base) yield* requireReasonable(this.git, head)
      const changed = yield* this.git.withIndexOf(head, (index) => this.changed(index))
      const isStaged = staged === undefined || staged !== (yield* this.treeOf(head))
      const hasRepositories = yield* this.hasRepositories(head, changed)
      return {
        head,
        tips,
        uncommitted: isUnfinished(this.git) || changed.length > 0 || isStaged || hasRepositories,
        unmerged: yield* this.isUnmerged([head, ...refs.values()])
      }
    })
  }

  /** Saves all files that git does not ignore as a commit, under the run's ref. Fails for nested repositories, which a commit cannot contain. */
  save({ head, tips }: WorktreeWork, unixSeconds: number): Effect.Effect<void, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const tree = yield* this.git.withIndexOf(head, (index) =>
        Effect.gen({ self: this }, function* () {
          if (yield* this.hasRepositories(head, yield* this.changed(index))) return yield* hasNestedRepository
          yield* this.git.onFiles(index, ["add", "-A", "--", "."])
          return yield* this.git.treeOf(index)
        })
      )
      const commit = (treeId: string, parents: ReadonlyArray<string>, message: string) =>
        this.git.askStore(
          ["commit-tree", treeId, ...parents.flatMap((parent) => ["-p", parent]), "-m", message],
          { env: identityAt(unixSeconds) }
        )
      // During a merge the index has no tree. The files are saved in any case.
      const { staged = tree } = tips
      const handed = (yield* branchesOf(this.git, this.branch)).map(({ tip }) => tip)
      const heads = [...new Set([head, ...(yield* this.commitsOf([...handed, ...tips.refs.values()]))])]
      // Staged content is a separate parent, as in a stash.
      const parents = staged === tree ? heads : [...heads, yield* commit(staged, [head], "What was staged")]
      const saved = yield* commit(tree, parents, `The worktree of ${this.runId} before it was removed`)
      yield* hand(this.git, saved, yield* this.common)
      yield* this.git.writeRef(savedRefOf(this.runId), saved)
    })
  }

  /** Removes everything of the worktree. Keeps branches with commits that are on no other ref, or that are checked out. Returns the newest of them. */
  get removed(): Effect.Effect<string | undefined, GitFailed> {
    const { folder, repository, runRepository, store } = this.place
    return Effect.gen({ self: this }, function* () {
      for (const each of [folder, runRepository, store])
        yield* Effect.mapError(removeFolder(each), (message) => new GitFailed({ message }))
      // The repository was removed, and the branch with it.
      if (!existsSync(repository)) return undefined
      yield* attemptFiles(() => removePart(repository, this.runId))
      const others = ["--not", `--exclude=${branchOf(this.runId)}*`, "--branches", "--tags", "--remotes"]
      const saved = yield* this.git.ask(["for-each-ref", "--format=%(objectname)", savedRefOf(this.runId)])
      let left: string | undefined
      for (const { isCheckedOut, name, tip } of yield* branchesOf(this.git, this.branch)) {
        const elsewhere = saved === "" ? others : [...others, saved]
        const isElsewhere =
          tip === this.base || (yield* this.git.ask(["rev-list", "-1", tip, ...elsewhere])) === ""
        if (isCheckedOut || !isElsewhere) left = name.slice("refs/heads/".length)
        else yield* this.git.deleteRef(name, tip)
      }
      yield* this.git.deleteRef(keepRefOf(this.runId))
      return left
    })
  }

  /** Refs of the workspace that the run's repository received last. */
  private get copied(): RefTable {
    return refsOfText(smallFile(join(this.place.store, "copied-refs"), MAX_REFS) ?? "")
  }

  private writeCopied(refs: RefTable): void {
    makeFolder(this.place.store)
    writeFileSync(join(this.place.store, "copied-refs"), packedRefs(this.withBranch(refs)), { mode: 0o600 })
  }

  /** Refs that the run received: also its branch, which the workspace does not have, or not for the run. */
  private withBranch(refs: RefTable): RefTable {
    return new Map([...refs, [this.branch, this.base]])
  }

  /** Refs that the run's repository may have, because their commits stay. */
  private get borrowedRefs(): Effect.Effect<RefTable, GitFailed> {
    const borrowed = Effect.gen({ self: this }, function* () {
      const before = yield* workspaceRefs(this.git, this.branch)
      yield* keepCommits(this.git, keepRefOf(this.runId), this.base)
      const refs = yield* workspaceRefs(this.git, this.branch)
      return packedRefs(before) === packedRefs(refs) ? refs : yield* refsMoved
    })
    // Again if the owner moves a ref meanwhile, or the owner's `git gc` removes a commit.
    return Effect.retry(borrowed, { times: RETRIES })
  }

  /** Commits that the workspace has for certain. */
  private get common(): Effect.Effect<CommonCommits, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const borrowed = yield* this.git.ask(["rev-parse", "--verify", "-q", keepRefOf(this.runId)], {
        accept: [0, 1]
      })
      const handed = yield* branchesOf(this.git, this.handed)
      return [
        ...new Set([borrowed === "" ? this.base : borrowed, this.base, ...handed.map(({ tip }) => tip)])
      ]
    })
  }

  private treeOf(commit: string): Effect.Effect<string, GitFailed> {
    return this.git.askStore(["rev-parse", "--verify", "-q", `${commit}^{tree}`])
  }

  /** Those of the objects that are commits, or lead to one. */
  private commitsOf(ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, GitFailed> {
    return Effect.map(
      Effect.forEach(ids.slice(0, MAX_PARENTS), (id) =>
        this.git.askStore(["rev-parse", "--verify", "-q", `${id}^{commit}`], { accept: [0, 1, 128] })
      ),
      (commits) => commits.filter((id) => id !== "")
    )
  }

  private isUnmerged(starts: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    const others = ["--not", `--exclude=${branchOf(this.runId)}*`, "--branches", "--tags", "--remotes"]
    const env = { GIT_OBJECT_DIRECTORY: this.place.objects }
    return Effect.gen({ self: this }, function* () {
      const commits = yield* this.commitsOf(starts)
      const found = yield* this.git.ask(["rev-list", "-1", ...commits, ...others], { env })
      return found !== ""
    })
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
    return Effect.map(git(this.git.inStore(["ls-tree", "-r", "-z", head])), ({ bytes }) =>
      records(bytes.toString("latin1")).some(
        (record) => record.startsWith(GITLINK) && hasGitDir(record.slice(record.indexOf("\t") + 1))
      )
    )
  }
}

const onlyHead = (head: string): RunTips => ({ head, staged: undefined, refs: new Map() })

const records = (output: string): ReadonlyArray<string> =>
  output.split("\0").filter((record) => record !== "")

const refsMoved = new GitFailed({ message: "its refs changed meanwhile" })
const hasNestedRepository = new GitFailed({ message: "it holds another repository" })

const identityAt = (unixSeconds: number): Record<string, string> => {
  const of = (who: string) => ({
    [`GIT_${who}_NAME`]: "Corral",
    [`GIT_${who}_EMAIL`]: "corral@localhost",
    [`GIT_${who}_DATE`]: `@${unixSeconds} +0000`
  })
  return { ...of("AUTHOR"), ...of("COMMITTER") }
}
