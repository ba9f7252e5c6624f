/** A person's own git, as a person would use it, in a workspace beside an Edge's home. */
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { temporaryFolder } from "../Folder.ts"

export interface Place {
  readonly home: string
  /** The workspace: empty, no repository. */
  readonly root: string
}

export const place = Effect.map(temporaryFolder, (folder): Place => {
  const root = join(folder, "workspace")
  mkdirSync(root)
  return { home: join(folder, "home"), root }
})

export const git = (folder: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@b.c", ...args], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" }
  })

export const repository = (root: string): void => {
  git(root, "init", "-q", "-b", "main")
}

export const commitAll = (root: string): void => {
  git(root, "add", "-A")
  git(root, "commit", "-q", "--allow-empty", "-m", "as it is")
}

/** Fills an empty folder with a copy of what `make` makes, which starts its programs once in each worker. Any other folder is filled by `make`. */
export const copied = (make: (root: string) => void): ((root: string) => void) => {
  let template: string | undefined
  const templateOf = (): string => {
    if (template !== undefined) return template
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-repository-")))
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
    make(folder)
    return (template = folder)
  }
  return (root) => {
    if (readdirSync(root).length > 0) return make(root)
    cpSync(templateOf(), root, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  }
}

/** A repository with a file and an ignore rule, committed. */
export const sampleRepository = copied((root) => {
  repository(root)
  writeFileSync(join(root, "a.txt"), "1\n")
  writeFileSync(join(root, ".gitignore"), "*.log\n")
  commitAll(root)
})

/** What a repository knows of worktrees that are ours: their folders, and their branches. */
export const knownWorkspace = (root: string) => ({
  folders: [...git(root, "worktree", "list", "--porcelain").matchAll(/^worktree (.*)$/gm)]
    .map(([, path = ""]) => path)
    .filter((path) => path !== root)
    .toSorted(),
  branches: git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads/corral")
    .split("\n")
    .filter(Boolean)
})
