/** Where a grant may write: inside the workspace, and not in what git keeps for itself, by text and by where links really lead. */
import { join, relative } from "node:path"
import { insideOf, realAncestor } from "../workspace/PathContainment.ts"

/** What git keeps for itself: a hook or a setting there is a command that runs later. File systems know it under several spellings. */
export const isRepositoryInternal = (path: string): boolean =>
  path
    .replaceAll(/\p{Cf}/gu, "")
    .split(/[\\/]/)
    .some((part) => /^\.git[. ]*(:.*)?$|^git~\d$/i.test(part))

/** For a workspace's real root: whether a grant may cover a write of what that relative path names. */
export const writableIn = (root: string) => {
  const isInside = insideOf(root)
  return (path: string): boolean =>
    !isRepositoryInternal(path) &&
    isInside(path) &&
    !isRepositoryInternal(relative(root, realAncestor(join(root, path))))
}
