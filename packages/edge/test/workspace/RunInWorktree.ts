/** A worktree with a confined shell in it, as a run has one, beside the repository of an owner who has a stash, tags and remote branches. */
import type { RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Effect, Layer } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Confinement, isolatedGitLayer } from "../../src/confinement/Confinement.ts"
import { Store } from "../../src/store/Store.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import type { OrdinaryUser } from "../confinement/ConfinedCase.ts"
import { configLayer, newRunId } from "../Samples.ts"
import { commitAll, copied, git, type Place, sampleRepository } from "./Repository.ts"

const workspace = "ws" as WorkspaceId
const PATH = "/usr/local/bin:/usr/bin:/bin"

/** Worktrees whose git is confined like runs. */
export const confinedServices = ({ home }: Place) =>
  Worktrees.layer.pipe(
    Layer.provide(isolatedGitLayer),
    Layer.provideMerge(Confinement.layer),
    Layer.provide(
      configLayer(home, { confinement: "required", environment: { PATH, HOME: join(home, "..", "user") } })
    ),
    Layer.provideMerge(Store.layerMemory)
  )

/** Commits, branches, a tag, a remote branch and a stash, packed in part. */
export const ownedRepository = copied((root) => {
  sampleRepository(root)
  git(root, "branch", "feature")
  git(root, "tag", "-a", "v1", "-m", "first")
  git(root, "gc", "-q")
  writeFileSync(join(root, "a.txt"), "2\n")
  commitAll(root)
  git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
  writeFileSync(join(root, "a.txt"), "stashed\n")
  git(root, "stash", "-q")
})

const checked = (root: string) => {
  const { status, stderr, stdout } = spawnSync("git", ["fsck", "--full", "--strict"], {
    cwd: root,
    encoding: "utf8"
  })
  return { status, stdout, stderr }
}

/** Everything that an owner has, without the branches of runs. */
export const ownedState = (root: string) => ({
  fsck: checked(root),
  refs: git(root, "for-each-ref")
    .split("\n")
    .filter((line) => !line.includes("refs/heads/corral/") && !line.includes("refs/corral/")),
  head: git(root, "symbolic-ref", "HEAD"),
  status: git(root, "status", "--porcelain=v1"),
  index: git(root, "ls-files", "--stage"),
  config: git(root, "config", "--local", "--list"),
  stash: git(root, "stash", "list"),
  hooks: execFileSync("ls", ["-lR", join(root, ".git/hooks"), join(root, ".git/info")], { encoding: "utf8" })
})

/** A worktree as the start of a run makes it. */
export const openedWorktree = Effect.fnUntraced(function* (root: string) {
  const worktrees = yield* Worktrees
  const runId = newRunId()
  const { row } = yield* worktrees.plan(runId, workspace, root)
  yield* (yield* Store).commit([row])
  yield* worktrees.make(runId, {})
  return { runId, path: worktrees.pathOf(runId) }
})

/** Runs a script in the worktree, confined as a run in `auto_edit`. Returns what it printed. */
export const runConfined = Effect.fnUntraced(function* (
  { home, root }: Place,
  runId: RunId,
  script: string,
  user?: OrdinaryUser,
  variables: Readonly<Record<string, string>> = {}
) {
  const worktrees = yield* Worktrees
  const confinement = yield* Confinement
  const path = worktrees.pathOf(runId)
  const temporary = join(home, "tmp", runId)
  mkdirSync(temporary, { recursive: true })
  mkdirSync(join(home, "..", "user"), { recursive: true })
  const env = {
    PATH,
    HOME: join(home, "..", "user"),
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@b.c",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@b.c",
    R: join(root, ".git"),
    W: `${path}.git`,
    ...variables
  }
  const command = {
    file: "/bin/bash",
    args: ["-c", script],
    cwd: path,
    env,
    stdin: "ignore",
    temporary
  } as const
  const spec = yield* confinement.confine(
    {
      ids: undefined,
      mode: "auto_edit",
      workspace: path,
      attachments: undefined,
      folders: undefined,
      network: undefined,
      grants: [],
      repository: () => worktrees.repositoryOf(runId),
      user: { ask: () => Effect.succeed("denied"), report: () => undefined }
    },
    command
  )
  if (user !== undefined) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, join(home, "..")])
  const { stderr, stdout } = spawnSync(spec.file, spec.args, {
    env: spec.env,
    encoding: "utf8",
    timeout: 60_000,
    ...user
  })
  if (user !== undefined) execFileSync("chown", ["-R", "0:0", join(home, "..")])
  return { stdout, stderr }
}, Effect.scoped)
