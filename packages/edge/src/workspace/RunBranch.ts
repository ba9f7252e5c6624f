/**
 * Branch of a run in the workspace's repository: `corral/<run>`, or `corral/<run>-2` and so on where the run has rewritten what was handed over,
 * or the branch is checked out.
 *
 * Guarantees: a branch only moves forward, by compare-and-swap, and never while a person has it checked out. What it names is complete, also if
 * the owner's git removes unused objects meanwhile.
 */
import { Effect } from "effect"
import type { GitFailed } from "./Git.ts"
import { type CommonCommits, hand, isBranchOf } from "./RunCommits.ts"
import type { WorktreeGit } from "./WorktreeGit.ts"

const HEADS = "refs/heads/"
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
    if (yield* isAncestor(git, head, tip)) return name.slice(HEADS.length)
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
  return name.slice(HEADS.length)
})
