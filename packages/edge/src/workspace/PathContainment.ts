/**
 * Whether the text of a path stays inside a workspace. `approval/PathTarget` resolves links.
 */
import { isAbsolute, relative, sep } from "node:path"

/** Relative and not climbing: `a/b`, not `/a`, `../a`, `a/../../b`, `C:\a`. */
export const isLexicallyInside = (path: string): boolean =>
  path !== "" &&
  !path.includes("\0") &&
  !isAbsolute(path) &&
  !/^([A-Za-z]:|\\)/.test(path) &&
  !path.split(/[\\/]/).includes("..")

/** For real paths: whether `path` is `root` or inside it. */
export const isWithin = (root: string, path: string): boolean => {
  const from = relative(root, path)
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from)
}
