/**
 * Whether a path stays inside a workspace: by its text, and by where its links really lead.
 *
 * The answer holds for the moment it is given; a link that is moved afterwards is not seen.
 */
import { lstatSync, realpathSync } from "node:fs"
import { dirname, isAbsolute, join, relative, sep } from "node:path"

/** Relative and not climbing: `a/b`, not `/a`, `../a`, `a/../../b`, `C:\a`. */
export const isLexicallyInside = (path: string): boolean =>
  path !== "" &&
  !path.includes("\0") &&
  !isAbsolute(path) &&
  !/^([A-Za-z]:|\\)/.test(path) &&
  !path.split(/[\\/]/).includes("..")

/** The real path of the nearest ancestor that exists. */
export const realAncestor = (path: string): string => {
  for (let at = path; ; at = dirname(at)) {
    try {
      return realpathSync(at)
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === "ENOENT"
      // A link to nowhere is there and resolves to nothing: what is written through it lands where it points.
      if (!missing || at === dirname(at) || lstatSync(at, { throwIfNoEntry: false }) !== undefined) return "/"
    }
  }
}

/** For real paths: whether `path` is `root` or lies below it. */
export const isWithin = (root: string, path: string): boolean => {
  const from = relative(root, path)
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from)
}

/** For a workspace's real root: whether what a relative path names, or would name once made, lies in it. */
export const insideOf =
  (root: string) =>
  (path: string): boolean =>
    isLexicallyInside(path) && isWithin(root, realAncestor(join(root, path)))
