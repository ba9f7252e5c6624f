/**
 * Commits of a run, from its repository to the store of the Edge, and from there to the workspace's repository, where a branch names them:
 * `corral/<run>`, or `corral/<run>-2` and so on where the run has rewritten what was handed over, or the branch is checked out.
 *
 * A ref of the worktree in the workspace's repository has the effect that the owner's `git gc` removes nothing that the run's repository borrows:
 * the commit that the worktree started from, and what the workspace's refs named when the run received them.
 *
 * Guarantees: everything that comes from the run passes a pipe: an isolated git packs, and the Edge's git checks every object and every link before
 * it has a name. Sizes and times are limited. The workspace's repository receives objects only with their whole history. A branch only moves
 * forward, by compare-and-swap, and never while a person has it checked out. What it names is complete, also if the owner's git removes unused
 * objects meanwhile. It only grows until the worktree is removed. It is the base itself as long as the base has everything.
 */
import { Effect } from "effect"
import { lstatSync } from "node:fs"
import { join } from "node:path"
import { git, GitFailed, pipeGit } from "./Git.ts"
import { isWholeRepository } from "./WorkspaceRepository.ts"
import { refsOfText, type RefTable } from "./RunRepository.ts"
import type { WorktreeGit } from "./WorktreeGit.ts"

/** What the run has, by object ids. */
export interface RunTips {
  /** The commit that is checked out; `undefined` on a branch without a commit. */
  readonly head: string | undefined
  /** The tree of its index; `undefined` during a merge. */
  readonly staged: string | undefined
  /** Refs that the run has made or moved. */
  readonly refs: RefTable
}

/** Largest pack that a run hands over. */
const MAX_PACK = 1_073_741_824
const PACK_MS = 120_000
/** Names of files in one commit. */
const MAX_NAMES = 134_217_728
const MAX_REFS = 1_000
const MAX_COMMIT = 1_048_576
const ID = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** Refs that change what objects mean, and are not commits of anyone. */
const REPLACEMENTS = "refs/replace/"

/** Refs of the workspace. */
export interface WorkspaceRefs {
  /** Those of a person. */
  readonly refs: RefTable
  /** The commit of the ref on what the run borrows; empty if there is none. */
  readonly keepTip: string
}

/** Refs of a person in the workspace, without the branches of this run, and the ref `keepRef`. */
export const workspaceRefs = (
  git: WorktreeGit,
  branch: string,
  keepRef: string
): Effect.Effect<WorkspaceRefs, GitFailed> =>
  Effect.map(
    git.ask([
      "for-each-ref",
      "--format=%(if)%(symref)%(then)%(else)%(objectname) %(refname)%(end)",
      ...PERSONAL,
      keepRef
    ]),
    (text) => {
      const listed = refsOfText(text)
      return {
        refs: new Map([...listed].filter(([name]) => name !== keepRef && !isBranchOf(branch, name))),
        keepTip: listed.get(keepRef) ?? ""
      }
    }
  )

/** Refs that the run's repository receives. */
const PERSONAL = ["refs/heads", "refs/tags", "refs/remotes"]

/** Whether a ref is the branch of a run, or a later one of it. */
const isBranchOf = (branch: string, name: string): boolean =>
  name === branch || (name.startsWith(`${branch}-`) && /^\d+$/.test(name.slice(branch.length + 1)))

/** What the run has checked out, as it says; `undefined` on a branch without a commit. */
export const headOf = (git: WorktreeGit): Effect.Effect<string | undefined, GitFailed> =>
  Effect.andThen(
    requirePlain(git),
    Effect.map(git.askRun(["rev-parse", "--verify", "-q", "HEAD"], { accept: [0, 1] }), idOf)
  )

const idOf = (text: string): string | undefined => (ID.test(text) ? text : undefined)

/** Files of the run's repository that git reads, and would wait for if they were pipes. */
const READ = ["HEAD", "config", "index", "objects/info/alternates", "packed-refs", "shallow"]

const requirePlain = ({ place: { runRepository } }: WorktreeGit): Effect.Effect<void, GitFailed> =>
  Effect.suspend(() =>
    READ.map((name) => lstatSync(join(runRepository, name), { throwIfNoEntry: false })).every(
      (stat) => stat === undefined || stat.isFile()
    )
      ? Effect.void
      : Effect.fail(new GitFailed({ message: "a file of the run's repository is not a regular file" }))
  )

/** What the run has now. `copied`: the refs that it received. */
export const tipsOf = Effect.fnUntraced(function* (
  git: WorktreeGit,
  copied: RefTable
): Effect.fn.Return<RunTips, GitFailed> {
  const head = yield* headOf(git)
  const staged = yield* Effect.orElseSucceed(git.askRun(["write-tree"]), () => "")
  const format = ["for-each-ref", `--count=${MAX_REFS + copied.size}`, "--format=%(objectname) %(refname)"]
  const all = refsOfText(yield* git.askRun(format))
  const refs = new Map(
    [...all].filter(([name, id]) => copied.get(name) !== id && !name.startsWith(REPLACEMENTS))
  )
  return { head, staged: idOf(staged), refs }
})

const startsOf = ({ head, refs, staged }: RunTips): ReadonlyArray<string> => [
  ...new Set([...[head, staged].filter((id) => id !== undefined), ...refs.values()])
]

/** Ids of commits that the workspace has for certain: first what the run borrows, then what it handed over. */
export type CommonCommits = ReadonlyArray<string>

const linesOf = (starts: ReadonlyArray<string>, common: CommonCommits): Buffer =>
  Buffer.from([...starts, ...common.map((id) => `^${id}`), ""].join("\n"))

/** The owner may remove a branch of the run, and git its commits. Then they are handed over again. */
const withFewer = <A>(
  common: CommonCommits,
  transfer: (common: CommonCommits) => Effect.Effect<A, GitFailed>
): Effect.Effect<A, GitFailed> =>
  transfer(common).pipe(
    Effect.catch((failure) => (common.length > 1 ? transfer(common.slice(0, 1)) : Effect.fail(failure)))
  )

const pack = ["pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset", "--threads=1"]

const indexPack = ({ place: { facts } }: WorktreeGit): ReadonlyArray<string> => [
  "index-pack",
  "--stdin",
  // A partial clone lacks objects that its commits name.
  ...(facts.partialRemote === undefined ? ["--strict"] : []),
  "--fsck-objects",
  "--threads=1",
  `--max-input-size=${MAX_PACK}`
]

/** Fails unless the store has the whole history of these objects, up to what the workspace has. */
const requireWhole = (git: WorktreeGit, starts: ReadonlyArray<string>, common: CommonCommits) => {
  const partial = git.place.facts.partialRemote === undefined ? [] : ["--exclude-promisor-objects"]
  return git.askStore(["rev-list", "--objects", "--quiet", ...partial, "--stdin"], {
    stdin: linesOf(starts, common)
  })
}

/** Receives objects of the run in the store. Fails unless what is checked out is a commit. */
export const receive = Effect.fnUntraced(function* (
  git: WorktreeGit,
  tips: RunTips,
  common: CommonCommits
): Effect.fn.Return<void, GitFailed> {
  yield* git.prepared
  const { head } = tips
  const starts = startsOf(tips)
  if (starts.every((id) => common.includes(id))) return
  yield* withFewer(common, (common) =>
    Effect.andThen(
      pipeGit(
        { ...git.inRun(pack, { stdin: linesOf(starts, common) }), timeoutMs: PACK_MS },
        { ...git.inStore(indexPack(git)), timeoutMs: PACK_MS },
        MAX_PACK
      ),
      requireWhole(git, starts, common)
    )
  )
  if (head !== undefined) yield* git.askStore(["cat-file", "commit", head], { maxBytes: MAX_COMMIT })
})

/** Fails if a commit has more files than a disk can hold. A small pack can name thousands of millions. */
export const requireReasonable = (worktree: WorktreeGit, head: string): Effect.Effect<void, GitFailed> =>
  Effect.flatMap(
    git({
      ...worktree.inStore(["ls-tree", "-r", "-z", "--name-only", head], { maxBytes: MAX_NAMES }),
      isDiscarded: true
    }),
    ({ cut }) => (cut ? new GitFailed({ message: "its commit has too many files" }) : Effect.void)
  )

/** Gives the workspace's repository an object of the store with its history. */
export const hand = (
  git: WorktreeGit,
  id: string,
  common: CommonCommits
): Effect.Effect<unknown, GitFailed> =>
  Effect.suspend(() =>
    isWholeRepository(git.place.repository)
      ? withFewer(common, (common) =>
          pipeGit(
            { ...git.inStore(pack, { stdin: linesOf([id], common) }), timeoutMs: PACK_MS },
            { ...git.inWorkspace(indexPack(git)), timeoutMs: PACK_MS },
            MAX_PACK
          )
        )
      : Effect.fail(new GitFailed({ message: "the workspace's repository is not in the workspace" }))
  )

/** Files of an operation that is not finished. */
const UNFINISHED = ["rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]

/** Whether the run has a merge or a rebase that is not finished. */
export const isUnfinished = ({ place: { runRepository } }: WorktreeGit): boolean =>
  UNFINISHED.some((name) => lstatSync(join(runRepository, name), { throwIfNoEntry: false }) !== undefined)

/** Parents of one commit. What is beyond is kept by the next one. */
const MAX_PARENTS = 10_000
const COMMIT = "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)"
const IDENTITY = "Corral <corral@localhost> 0 +0000"

/** Makes the ref at `base` if it is missing, and adds what the workspace's refs name now. Returns its commit. */
export const keepCommits = Effect.fnUntraced(function* (
  git: WorktreeGit,
  ref: string,
  base: string,
  { keepTip, refs }: WorkspaceRefs
): Effect.fn.Return<string, GitFailed> {
  const first = keepTip === "" ? base : keepTip
  const mayHaveOthers = [...refs.values()].some((id) => id !== first)
  const listed = mayHaveOthers
    ? yield* git.ask(["for-each-ref", `--no-merged=${first}`, COMMIT, ...PERSONAL])
    : ""
  const others = [...new Set(listed.split("\n").filter((id) => id !== ""))].slice(0, MAX_PARENTS)
  if (others.length === 0 && first === keepTip) return keepTip
  const target = others.length === 0 ? first : yield* commitOf(git, [first, ...others])
  yield* git.writeRef(ref, target, keepTip)
  return target
})

/** A commit with these parents, and the files of the first. */
const commitOf = Effect.fnUntraced(function* (
  git: WorktreeGit,
  parents: ReadonlyArray<string>
): Effect.fn.Return<string, GitFailed> {
  const tree = yield* git.ask(["rev-parse", "--verify", "-q", `${parents[0]}^{tree}`])
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${IDENTITY}`,
    `committer ${IDENTITY}`,
    "",
    "Commits that a worktree of a run borrows",
    ""
  ]
  return yield* git.ask(["hash-object", "-t", "commit", "-w", "--stdin"], {
    stdin: Buffer.from(lines.join("\n"))
  })
})

const HEADS = "refs/heads/"
/** The name of a branch, or the full name of another ref. */
export const shortName = (name: string): string => (name.startsWith(HEADS) ? name.slice(HEADS.length) : name)
const RETRIES = 4

interface HandedBranch {
  readonly name: string
  readonly tip: string
  readonly isCheckedOut: boolean
}

const numberOf = (branch: string, name: string): number =>
  name === branch ? 1 : Number(name.slice(branch.length + 1))

/** What the workspace has of a run. */
export interface HandedRefs {
  /** Branches of the run, in the order in which they were made. */
  readonly branches: ReadonlyArray<HandedBranch>
  /** The commit of another ref; `undefined` if it does not exist. */
  readonly other: string | undefined
}

/** The branches of the run, and another ref if one is named. */
export const handedRefs = (
  git: WorktreeGit,
  branch: string,
  other: string = branch
): Effect.Effect<HandedRefs, GitFailed> =>
  Effect.map(
    git.ask([
      "for-each-ref",
      "--format=%(objectname) %(refname) %(worktreepath)",
      branch,
      `${branch}-*`,
      other
    ]),
    (text) => {
      const listed = text.split("\n").map((line) => {
        const [tip = "", name = "", ...rest] = line.split(" ")
        return { name, tip, isCheckedOut: rest.join(" ") !== "" }
      })
      return {
        branches: listed
          .filter(({ name }) => isBranchOf(branch, name))
          .toSorted((a, b) => numberOf(branch, a.name) - numberOf(branch, b.name)),
        other: listed.find(({ name }) => name === other)?.tip
      }
    }
  )

const isAncestor = (git: WorktreeGit, earlier: string, later: string): Effect.Effect<boolean> =>
  earlier === later
    ? Effect.succeed(true)
    : git.askStore(["merge-base", "--is-ancestor", earlier, later]).pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false)
      )

/** Moves the newest branch of the run to `head`, or makes one. Returns its short name. */
export const advanceBranch = Effect.fnUntraced(function* (
  git: WorktreeGit,
  branch: string,
  head: string,
  common: CommonCommits
): Effect.fn.Return<string, GitFailed> {
  const { branches } = yield* handedRefs(git, branch)
  for (const { name, tip } of branches.toReversed())
    if (yield* isAncestor(git, head, tip)) return shortName(name)
  const newest = branches.at(-1)
  const moves =
    newest !== undefined && !newest.isCheckedOut && (yield* isAncestor(git, newest.tip, head))
      ? newest
      : undefined
  const next = newest === undefined ? branch : `${branch}-${numberOf(branch, newest.name) + 1}`
  const name = moves?.name ?? next
  let isNamed = false
  const attempt = Effect.gen(function* () {
    yield* hand(git, head, common)
    if (!isNamed) yield* git.writeRef(name, head, moves?.tip ?? "")
    isNamed = true
    yield* git.ask(["rev-list", "--objects", "--quiet", head, "--not", `--exclude=${name}`, "--all"])
  })
  // The owner's `git gc` removes objects without a name: they are handed over again then.
  yield* Effect.retry(attempt, { times: RETRIES })
  return shortName(name)
})
