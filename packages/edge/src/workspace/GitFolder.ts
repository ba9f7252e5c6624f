/**
 * Location of a folder's repository, read from its `.git` without git. The files are untrusted: a workspace may contain anything under that
 * name.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

export interface GitFolder {
  /** Holds `objects`, `refs` and `config`. */
  readonly common: string
  /** Whether it is a real folder of the workspace, and nothing in it that git writes to is a link to another place. */
  readonly inside: boolean
}

/** First line of a small regular file; `undefined` for a link, a pipe, a large file, or no file. */
const firstLine = (path: string): string | undefined => {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const stats = fstatSync(descriptor)
    return stats.isFile() && stats.size <= 65_536
      ? readFileSync(descriptor, "utf8").split("\n", 1)[0]?.trim()
      : undefined
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
const isNone = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) === undefined

const isWhole = (folder: string): boolean =>
  isNone(join(folder, "commondir")) &&
  isFolder(join(folder, "objects")) &&
  ["refs", "refs/heads", "refs/corral", "refs/heads/corral", "worktrees"].every(
    (name) => isNone(join(folder, name)) || isFolder(join(folder, name))
  )

/** `undefined` if the folder is not the root of a repository. */
export const gitFolderOf = (root: string): GitFolder | undefined => {
  const at = join(root, ".git")
  if (isFolder(at)) return { common: at, inside: isWhole(at) }
  const named = /^gitdir: (.+)$/.exec(firstLine(at) ?? "")?.[1]
  if (named === undefined) return undefined
  const folder = resolve(root, named)
  const common = firstLine(join(folder, "commondir"))
  return { common: common === undefined ? folder : resolve(folder, common), inside: false }
}
