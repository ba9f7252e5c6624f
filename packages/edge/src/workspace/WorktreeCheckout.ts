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
import { mayHaveInner } from "./CaptureInProgress.ts"
import { attemptFiles, git, GitFailed } from "./Git.ts"
import {
  copyPart,
  copyRefs,
  createRunRepository,
  earlierPart,
  headOfPart,
  removePart,
  restoreRunRepository,
  type RunRepositoryPlace,
  unnamedFileOf,
  packedRefs,
  type RefTable,
  refsOfText
} from "./RunRepository.ts"
import {
  advanceBranch,
  type CommonCommits,
  hand,
  handedRefs,
  type HandedRefs,
  headOf,
  isUnfinished,
  keepCommits,
  receive,
  requireReasonable,
  type RunTips,
  shortName,
  tipsOf,
  workspaceRefs,
  type WorkspaceRefs
} from "./RunCommits.ts"
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
      const borrowed = yield* this.borrowedRefs
      yield* this.git.prepared
      yield* attemptFiles(() => {
        createRunRepository(this.repository, this.branch, this.base, borrowed.refs)
        this.writeCopied(borrowed)
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
      for (const each of [runRepository, store, unnamedFileOf(runRepository)])
        yield* Effect.mapError(removeFolder(each), (message) => new GitFailed({ message }))
      if (existsSync(repository)) yield* this.git.deleteRef(keepRefOf(this.runId))
    })
  }

  /** Checks out the base on a separate branch. `remove` cleans up after a failure. */
  create(): Effect.Effect<void, GitFailed> {
    const { folder, runRepository } = this.place
    return Effect.gen({ self: this }, function* () {
      yield* this.git.writeRef(this.branch, this.base)
      const borrowed = yield* this.borrowedRefs
      yield* this.git.prepared
      yield* attemptFiles(() => {
        makeFolder(folder)
        chmodSync(folder, 0o700)
        createRunRepository(this.repository, this.branch, this.base, borrowed.refs)
        this.writeCopied(borrowed)
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
      const borrowed = yield* this.borrowedRefs
      yield* attemptFiles(() => {
        const incomplete = `${runRepository}.converting`
        const start = tip === "" ? this.base : tip
        createRunRepository({ ...this.repository, folder: incomplete }, this.branch, start, borrowed.refs)
        copyPart(part, incomplete, head)
        renameSync(incomplete, runRepository)
        restoreRunRepository(this.repository)
        this.writeCopied(borrowed)
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
      const borrowed = yield* this.borrowedRefs
      yield* attemptFiles(() => {
        copyRefs(this.repository, this.copied, this.withBranch(borrowed.refs))
        this.writeCopied(borrowed)
      })
    })
  }

  /** Hands over what is checked out. Returns the short name of the branch that has it. */
  get handedOver(): Effect.Effect<string, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const head = (yield* headOf(this.git)) ?? this.base
      // A layer without a commit needs no ref.
      if (head === this.base && this.handed !== this.branch) return this.handed
      const handed = yield* this.handedRefs
      const newest = handed.branches.at(-1)
      if (newest?.tip === head) return shortName(newest.name)
      const common = this.commonIn(handed)
      yield* receive(this.git, onlyHead(head), common)
      if (head !== this.base) yield* requireReasonable(this.git, head)
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
      const common = yield* this.common
      // The workspace has the tree of a commit that it has: nothing is received for an index without changes.
      const tree = common.includes(head) ? yield* this.treeOf(head) : undefined
      yield* receive(this.git, { head, refs, staged: staged === tree ? undefined : staged }, common)
      if (head !== this.base) yield* requireReasonable(this.git, head)
      const { hasChanges, hasRepositories } = yield* this.git.withIndexOf(head, (index) =>
        this.examined(head, index)
      )
      const isStaged = staged === undefined || staged !== (tree ?? (yield* this.treeOf(head)))
      return {
        head,
        tips,
        uncommitted: isUnfinished(this.git) || hasChanges || isStaged || hasRepositories,
        unmerged: yield* this.isUnmerged(head, [...refs.values()])
      }
    })
  }

  /** Saves all files that git does not ignore as a commit, under the run's ref. Fails for nested repositories, which a commit cannot contain. */
  save({ head, tips }: WorktreeWork, unixSeconds: number): Effect.Effect<void, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const tree = yield* this.git.withIndexOf(head, (index) =>
        Effect.gen({ self: this }, function* () {
          if ((yield* this.examined(head, index)).hasRepositories) return yield* hasNestedRepository
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
      const handed = (yield* handedRefs(this.git, this.branch)).branches.map(({ tip }) => tip)
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
      for (const each of [folder, runRepository, store, unnamedFileOf(folder), unnamedFileOf(runRepository)])
        yield* Effect.mapError(removeFolder(each), (message) => new GitFailed({ message }))
      // The repository was removed, and the branch with it.
      if (!existsSync(repository)) return undefined
      yield* attemptFiles(() => removePart(repository, this.runId))
      const others = ["--not", `--exclude=${branchOf(this.runId)}*`, "--branches", "--tags", "--remotes"]
      const { branches, other: saved } = yield* handedRefs(this.git, this.branch, savedRefOf(this.runId))
      let left: string | undefined
      for (const { isCheckedOut, name, tip } of branches) {
        const elsewhere = saved === undefined ? others : [...others, saved]
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

  /** With the ref that keeps their commits. */
  private writeCopied({ keepTip, refs }: WorkspaceRefs): void {
    makeFolder(this.place.store)
    const copied = new Map([...this.withBranch(refs), [keepRefOf(this.runId), keepTip]])
    writeFileSync(join(this.place.store, "copied-refs"), packedRefs(copied), { mode: 0o600 })
  }

  /** Refs that the run received: also its branch, which the workspace does not have, or not for the run. */
  private withBranch(refs: RefTable): RefTable {
    return new Map([...refs, [this.branch, this.base]])
  }

  /** Refs that the run's repository may have, because their commits stay. */
  private get borrowedRefs(): Effect.Effect<WorkspaceRefs, GitFailed> {
    const keepRef = keepRefOf(this.runId)
    const borrowed = Effect.gen({ self: this }, function* () {
      const before = yield* workspaceRefs(this.git, this.branch, keepRef)
      if (this.isKept(before)) return before
      const keepTip = yield* keepCommits(this.git, keepRef, this.base, before)
      const { refs } = yield* workspaceRefs(this.git, this.branch, keepRef)
      return packedRefs(before.refs) === packedRefs(refs) ? { refs, keepTip } : yield* refsMoved
    })
    // Again if the owner moves a ref meanwhile, or the owner's `git gc` removes a commit.
    return Effect.retry(borrowed, { times: RETRIES })
  }

  /** Whether the commits of these refs stay: the ref that keeps them is as it was when the run received each of them. */
  private isKept({ keepTip, refs }: WorkspaceRefs): boolean {
    const { copied } = this
    const ids = new Set(copied.values())
    return (
      keepTip !== "" &&
      copied.get(keepRefOf(this.runId)) === keepTip &&
      [...refs.values()].every((id) => ids.has(id))
    )
  }

  private get handedRefs(): Effect.Effect<HandedRefs, GitFailed> {
    return handedRefs(this.git, this.handed, keepRefOf(this.runId))
  }

  /** Commits that the workspace has for certain. */
  private get common(): Effect.Effect<CommonCommits, GitFailed> {
    return Effect.map(this.handedRefs, (handed) => this.commonIn(handed))
  }

  private commonIn({ branches, other = this.base }: HandedRefs): CommonCommits {
    return [...new Set([other, this.base, ...branches.map(({ tip }) => tip)])]
  }

  private treeOf(commit: string): Effect.Effect<string, GitFailed> {
    return this.git.askStore(["rev-parse", "--verify", "-q", `${commit}^{tree}`])
  }

  /** Those of the objects that are commits, or lead to one. */
  private commitsOf(ids: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, GitFailed> {
    if (ids.length === 0) return Effect.succeed([])
    const stdin = Buffer.from(
      ids
        .slice(0, MAX_PARENTS)
        .map((id) => `${id}^{commit}\n`)
        .join("")
    )
    return Effect.map(
      this.git.askStore(["cat-file", "--batch-check=%(objecttype) %(objectname)"], { stdin }),
      (text) =>
        text.split("\n").flatMap((line) => {
          const [type, id = ""] = line.split(" ")
          return type === "commit" ? [id] : []
        })
    )
  }

  /** `head` is a commit. */
  private isUnmerged(head: string, others: ReadonlyArray<string>): Effect.Effect<boolean, GitFailed> {
    const elsewhere = ["--not", `--exclude=${branchOf(this.runId)}*`, "--branches", "--tags", "--remotes"]
    const env = { GIT_OBJECT_DIRECTORY: this.place.objects }
    return Effect.gen({ self: this }, function* () {
      const commits = yield* this.commitsOf(others)
      const found = yield* this.git.ask(["rev-list", "-1", head, ...commits, ...elsewhere], { env })
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

  /**
   * Whether files differ from an index, and whether the worktree contains another repository. The work in that one is not examined, because git would
   * run with its settings.
   */
  private examined(
    head: string,
    index: string
  ): Effect.Effect<Readonly<Record<"hasChanges" | "hasRepositories", boolean>>, GitFailed> {
    return Effect.gen({ self: this }, function* () {
      const changed = yield* this.changed(index)
      const mayHave = yield* attemptFiles(() => existsSync(index) && mayHaveInner(index))
      return {
        hasChanges: changed.length > 0,
        hasRepositories:
          changed.some((path) => path.endsWith("/")) || (mayHave && (yield* this.hasInner(head)))
      }
    })
  }

  /** Whether a repository that the commit names is in the worktree. */
  private hasInner(head: string): Effect.Effect<boolean, GitFailed> {
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
