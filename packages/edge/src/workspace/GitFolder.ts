/**
 * Location of a folder's repository, read from its `.git` without git. The files are untrusted: a workspace may contain anything under that
 * name.
 */
import { lstatSync } from "node:fs"
import { join, resolve } from "node:path"
import { smallFile } from "./SmallFile.ts"

export interface GitFolder {
  /** Holds `objects`, `refs` and `config`. */
  readonly common: string
  /** Holds `HEAD` and `index`: of a worktree, the folder of that worktree. */
  readonly folder: string
  /** Whether it is a real folder of the workspace, and nothing in it that git writes to is a link to another place. */
  readonly inside: boolean
}

const firstLine = (path: string): string | undefined => smallFile(path)?.split("\n", 1)[0]?.trim()

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const isNone = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) === undefined

/** Folders in which git moves refs of the Edge. It adds a line to a reflog that exists. */
const OF_REFS = ["refs", "logs/refs"].flatMap((folder) => [
  folder,
  ...["heads", "heads/corral", "corral", "corral/keep"].map((name) => `${folder}/${name}`)
])
/** Folders that the Edge's git writes to. */
const WRITTEN = ["objects/info", "objects/pack", "logs", ...OF_REFS, "worktrees"]

const areReal = (folder: string, names: ReadonlyArray<string>): boolean =>
  names.every((name) => isNone(join(folder, name)) || isFolder(join(folder, name)))

/** Whether no folder in which git moves refs is a link to another place. */
export const hasRealRefs = (folder: string): boolean =>
  isFolder(folder) && areReal(folder, ["logs", ...OF_REFS])

/** Whether everything that git writes to in the repository is in its folder. */
export const isWholeRepository = (folder: string): boolean =>
  isFolder(folder) &&
  isNone(join(folder, "commondir")) &&
  isFolder(join(folder, "objects")) &&
  areReal(folder, WRITTEN)

/** `undefined` if the folder is not the root of a repository. */
export const gitFolderOf = (root: string): GitFolder | undefined => {
  const at = join(root, ".git")
  if (isFolder(at)) return { common: at, folder: at, inside: isWholeRepository(at) }
  const named = /^gitdir: (.+)$/.exec(firstLine(at) ?? "")?.[1]
  if (named === undefined) return undefined
  const folder = resolve(root, named)
  const common = firstLine(join(folder, "commondir"))
  return { common: common === undefined ? folder : resolve(folder, common), folder, inside: false }
}
