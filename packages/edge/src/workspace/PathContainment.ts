/**
 * Whether the text of a path stays inside a workspace. `approval/PathTarget` resolves links.
 */
import { isAbsolute, sep } from "node:path"

/** Relative and not climbing: `a/b`, not `/a`, `../a`, `a/../../b`, `C:\a`. */
export const isLexicallyInside = (path: string): boolean =>
  path !== "" &&
  !path.includes("\0") &&
  !isAbsolute(path) &&
  !/^([A-Za-z]:|\\)/.test(path) &&
  !path.split(/[\\/]/).includes("..")

/** Whether `path` is `root` or inside it. Both are absolute, without `.` and `..`; links are not followed. */
export const isWithin = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)
