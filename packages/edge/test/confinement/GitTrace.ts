/** Names in a repository that git opens or looks for, absent ones included, from a trace of its system calls. */
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { git, sampleRepository } from "../workspace/Repository.ts"

export const canTrace = spawnSync("strace", ["-V"]).status === 0

/** What a person runs in a repository. Each may fail. */
export const FEW_COMMANDS = [
  "status",
  "log -1 --all",
  "rev-parse main v1 nothing @{-1}",
  "stash list",
  "fetch upstream",
  "rebase --abort",
  "bisect log",
  "rerere status"
]

export const ALL_COMMANDS = [
  ...FEW_COMMANDS,
  "for-each-ref",
  "stash apply",
  "reset --hard",
  "fetch . main",
  "merge --abort",
  "am --abort",
  "cherry-pick --abort",
  "revert --abort",
  "worktree list",
  "submodule status",
  "notes list",
  "describe --all",
  "branch -a",
  "diff HEAD",
  "check-ignore x",
  "check-attr a x",
  "sparse-checkout list",
  "commit --allow-empty -m y",
  "push --dry-run . main",
  "show-branch",
  "switch -",
  "reflog",
  "gc -q",
  "fsck"
]

/** A repository with refs of each kind, a stash and a linked worktree. */
export const tracedRepository = (root: string): void => {
  sampleRepository(root)
  git(root, "branch", "feature")
  git(root, "tag", "-a", "v1", "-m", "first")
  git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
  git(root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
  git(root, "pack-refs", "--all")
  git(root, "branch", "loose")
  writeFileSync(join(root, "a.txt"), "stashed\n")
  git(root, "stash", "-q")
}

/** Names relative to `.git`, sorted. `scratch`: a folder. */
export const tracedNames = (scratch: string, commands: ReadonlyArray<string>): ReadonlyArray<string> => {
  const root = join(scratch, "traced")
  mkdirSync(root)
  tracedRepository(root)
  const out = join(scratch, "trace")
  const script = commands.map((command) => `git ${command}`).join("; ")
  const env = {
    PATH: process.env.PATH,
    HOME: scratch,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "A",
    GIT_AUTHOR_EMAIL: "a@b.c",
    GIT_COMMITTER_NAME: "A",
    GIT_COMMITTER_EMAIL: "a@b.c"
  }
  const options = ["-f", "-qq", "-s", "4096", "-e", "trace=file", "-o", out]
  spawnSync("strace", [...options, "sh", "-c", script], { cwd: root, env, stdio: "ignore" })
  const found = readFileSync(out, "latin1").matchAll(/"(?:[^"]*\/)?\.git\/([^"]+?)\/*"/g)
  return [...new Set([...found].map(([, name = ""]) => name.replaceAll(/\/+/g, "/")))].toSorted()
}
