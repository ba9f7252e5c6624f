/**
 * Names in a workspace that other programs run or obey by themselves, as the policy of paths reads them. Pure.
 *
 * Does not: look into installed packages and caches, which programs write all the time.
 */
import { installedFolders } from "../approval/FileNames.ts"
import { loadedReason } from "../approval/OrdinaryFiles.ts"

/**
 * How the entries of a folder are judged. `ordinary`: by their names. `all`: every entry is protected. `repository`, `info` and `rebase`: the
 * files that Git obeys. `parts`: repositories of submodules and worktrees.
 */
export type FolderKind = "ordinary" | "all" | "repository" | "info" | "rebase" | "parts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Caches and installed packages whose names begin with a dot. */
const caches = named(
  ".angular .cache .dart_tool .eggs .expo .gradle .hypothesis .ipynb_checkpoints .mypy_cache .next .nox .nuxt .nx .nyc_output .output " +
    ".parcel-cache .pnpm-store .pytest_cache .ruff_cache .sass-cache .svelte-kit .terraform .tox .turbo .venv .virtualenv .vite .vitest"
)
const cacheFiles = named(".coverage .ds_store .eslintcache .stylelintcache .tsbuildinfo")

/** Files that Git obeys, by the folder that they are in. */
const repositoryFiles: Readonly<Record<"repository" | "info" | "rebase" | "parts", ReadonlySet<string>>> = {
  repository: named("config config.worktree commondir gitdir"),
  info: named("attributes"),
  rebase: named("git-rebase-todo"),
  parts: new Set()
}
const repositoryFolders: ReadonlyMap<string, FolderKind> = new Map([
  ["hooks", "all"],
  ["info", "info"],
  ["rebase-merge", "rebase"],
  ["modules", "parts"],
  ["worktrees", "parts"]
])

/** Whether a folder with these names holds the data of a repository: a bare one, a moved `.git`, a submodule or a worktree. */
export const holdsRepository = (names: { readonly has: (name: string) => boolean }): boolean =>
  names.has("HEAD") && (names.has("objects") || names.has("commondir"))

/** How to judge the folder `name` inside a folder; `undefined` if no program finds anything in it. `folded`: as file systems compare it. */
export const kindOfFolder = (parent: FolderKind, name: string, folded: string): FolderKind | undefined => {
  switch (parent) {
    case "repository":
      return repositoryFolders.get(name)
    case "info":
    case "rebase":
      return undefined
    case "parts":
      return "parts"
    case "ordinary":
    case "all":
      if (folded === ".git") return "repository"
      if (installedFolders.has(folded) || caches.has(folded)) return undefined
      return folded.startsWith(".") ? "all" : parent
  }
}

/** Whether the folder itself is protected. */
export const isProtectedFolder = (parent: FolderKind, folded: string): boolean =>
  parent === "all" || (parent === "ordinary" && folded.startsWith("."))

/** Whether a file or a link is protected. `folded`: all names of its path as file systems compare them. */
export const isProtectedFile = (parent: FolderKind, name: string, folded: ReadonlyArray<string>): boolean => {
  switch (parent) {
    case "all":
      return true
    case "ordinary":
      return !cacheFiles.has(folded.at(-1) ?? "") && loadedReason(name, folded) !== undefined
    default:
      return repositoryFiles[parent].has(name)
  }
}
