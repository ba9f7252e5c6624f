/**
 * Branch of a run in the workspace's repository: `corral/<run>`, or `corral/<run>-2` and so on where the run has rewritten what was
 * handed over, or the branch is checked out.
 *
 * Ref of a worktree in the workspace's repository, so that the owner's `git gc` removes nothing that the run's repository borrows: the
 * commit that the worktree started from, and what the workspace's refs named when the run received them.
 *
 * Guarantees: a branch only moves forward, by compare-and-swap, and never while a person has it checked out. What it names is
 * complete, also if the owner's git removes unused objects meanwhile. It only grows until the worktree is removed. It is the base
 * itself as long as the base has everything.
 */
import { Effect } from "effect"
import type { GitFailed } from "./Git.ts"
import { type CommonCommits, hand, isBranchOf } from "./RunCommits.ts"
import type { WorktreeGit } from "./WorktreeGit.ts"

/** Parents of one commit. What is beyond is kept by the next one. */
const MAX_PARENTS = 10_000
const COMMIT = "--format=%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)"
const IDENTITY = "Corral <corral@localhost> 0 +0000"

/** Makes the ref at `base` if it is missing, and adds what the workspace's refs name now. */
export const keepCommits = Effect.fnUntraced(function* (
  git: WorktreeGit,
  ref: string,
  base: string
): Effect.fn.Return<void, GitFailed> {
  const earlier = yield* git.ask(["rev-parse", "--verify", "-q", ref], { accept: [0, 1] })
  const first = earlier === "" ? base : earlier
  const refs = ["refs/heads", "refs/tags", "refs/remotes"]
  const listed = yield* git.ask(["for-each-ref", `--no-merged=${first}`, COMMIT, ...refs])
  const others = [...new Set(listed.split("\n").filter((id) => id !== ""))].slice(0, MAX_PARENTS)
  if (others.length === 0 && first === earlier) return
  const target = others.length === 0 ? first : yield* commitOf(git, [first, ...others])
  yield* git.writeRef(ref, target, earlier)
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
const shortName = (name: string): string => (name.startsWith(HEADS) ? name.slice(HEADS.length) : name)
const RETRIES = 4

interface HandedBranch {
  readonly name: string
  readonly tip: string
  readonly isCheckedOut: boolean
}

const numberOf = (branch: string, name: string): number =>
  name === branch ? 1 : Number(name.slice(branch.length + 1))

/** Branches of the run, in the order in which they were made. */
export const branchesOf = (
  git: WorktreeGit,
  branch: string
): Effect.Effect<ReadonlyArray<HandedBranch>, GitFailed> =>
  Effect.map(
    git.ask(["for-each-ref", "--format=%(objectname) %(refname) %(worktreepath)", branch, `${branch}-*`]),
    (text) =>
      text
        .split("\n")
        .flatMap((line) => {
          const [tip = "", name = "", ...rest] = line.split(" ")
          return isBranchOf(branch, name) ? [{ name, tip, isCheckedOut: rest.join(" ") !== "" }] : []
        })
        .toSorted((a, b) => numberOf(branch, a.name) - numberOf(branch, b.name))
  )

const isAncestor = (git: WorktreeGit, earlier: string, later: string): Effect.Effect<boolean> =>
  git.askStore(["merge-base", "--is-ancestor", earlier, later]).pipe(
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
  const branches = yield* branchesOf(git, branch)
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
