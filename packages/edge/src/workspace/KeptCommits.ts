/**
 * Ref of a worktree in the workspace's repository, so that the owner's `git gc` removes nothing that the run's repository borrows: the commit that
 * the worktree started from, and what the workspace's refs named when the run received them.
 *
 * Guarantees: it only grows until the worktree is removed. It is the base itself as long as the base has everything.
 */
import { Effect } from "effect"
import type { GitFailed } from "./Git.ts"
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
