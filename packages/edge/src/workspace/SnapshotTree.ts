/**
 * Tree of a snapshot: the folder that git walks, and the rules of its repository that say which files are ignored. A workspace inside a bigger
 * repository has the rules of that repository.
 *
 * Guarantees: nothing of the tree is opened that could block. A repository around the workspace counts only if the workspace's owner or root owns it.
 */
import { existsSync, lstatSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { type GitFolder, gitFolderOf } from "./WorkspaceRepository.ts"

export interface SnapshotTree {
  /** Root of the repository, or the workspace. Real path. */
  readonly top: string
  /** The workspace in `top`, with a slash at its end; empty if it is `top`. */
  readonly prefix: string
  readonly repository: GitFolder | undefined
}

/** Largest file of rules that git reads. */
export const MAX_RULES = 1_048_576
/** Files of rules that git opens in each folder, and at the top. */
const RULE_FILES = [".gitignore", ".gitattributes"]
const TOP_FILES = [...RULE_FILES, ".gitmodules"]

/** Whether git can read the files of rules of a folder without waiting. */
const areReadable = (folder: string, names: ReadonlyArray<string>): boolean =>
  names.every((name) => {
    try {
      const stats = statSync(join(folder, name), { throwIfNoEntry: false })
      return stats === undefined || (stats.isFile() && stats.size <= MAX_RULES)
    } catch {
      // A loop of links. git reads no link.
      return true
    }
  })

const ownerOf = (path: string): number | undefined => lstatSync(path, { throwIfNoEntry: false })?.uid

const isTrusted = (top: string, root: string): boolean => {
  const owner = ownerOf(join(top, ".git"))
  return owner === 0 || owner === ownerOf(root)
}

/** Whether git takes the folder for a repository. An empty `.git` is none. */
const isRepository = ({ common, folder }: GitFolder): boolean =>
  existsSync(join(folder, "HEAD")) && ["objects", "refs"].every((name) => existsSync(join(common, name)))

/** Folders from `top` to the parent of `root`. */
const between = (top: string, root: string): ReadonlyArray<string> => {
  const folders: Array<string> = []
  for (let at = root; at !== top;) folders.push((at = dirname(at)))
  return folders
}

/** The workspace itself, without a repository around it. */
export const plainTree = (root: string): SnapshotTree => ({
  top: root,
  prefix: "",
  repository: gitFolderOf(root)
})

/** `root`: real path of a workspace. */
export const snapshotTreeOf = (root: string): SnapshotTree => {
  const plain = plainTree(root)
  if (
    plain.repository !== undefined ||
    lstatSync(join(root, ".git"), { throwIfNoEntry: false }) !== undefined
  )
    return plain
  for (let at = root; at !== dirname(at);) {
    at = dirname(at)
    const repository = gitFolderOf(at)
    if (repository === undefined || !isRepository(repository)) continue
    const isUsable =
      isTrusted(at, root) && between(at, root).every((folder) => areReadable(folder, RULE_FILES))
    return isUsable ? { top: at, prefix: `${relative(at, root)}/`, repository } : plain
  }
  return plain
}

/** Whether files that git always opens would block it. Others are found when git does not end. */
export const hasBlockedRules = ({ prefix, top }: SnapshotTree): boolean =>
  !areReadable(top, TOP_FILES) || (prefix !== "" && !areReadable(join(top, prefix), RULE_FILES))
