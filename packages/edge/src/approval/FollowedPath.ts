/**
 * Real target of a path: every link of its existing part is followed, as the kernel does.
 *
 * Guarantees: a bounded number of names and links per path, including those of its starting folder.
 */
import type { Stats } from "node:fs"
import { isAbsolute, join, parse, sep } from "node:path"
import type { Lookups } from "./PathTarget.ts"

/** Maximum length of a link and of the remaining names. */
const MAX_LENGTH = 4_096
const MAX_LINKS = 40
/** Maximum number of names of a path, including those of its links. */
const MAX_NAMES = 64
/** Separators of names. */
export const separator = sep === "\\" ? /[\\/]/ : /\//

/** State of a followed path. */
export interface FollowedPath {
  readonly path: string
  readonly stats: Stats | undefined
  /** Names at its end that do not exist. */
  readonly missing: number
  readonly names: number
  readonly links: number
}

/** A name in a folder. */
export const joinPath = (folder: string, name: string): string =>
  folder.endsWith(sep) ? folder + name : folder + sep + name

/** Follows a path from a folder, component by component, as the kernel does; `undefined` if it cannot be followed. */
export const followPath = (lookups: Lookups, from: FollowedPath, path: string): FollowedPath | undefined => {
  let { links, missing, names, path: at, stats } = from
  const pending = path.split(separator).toReversed()
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (name === "" || name === ".") continue
    if (stats?.isDirectory() === false) return undefined
    if (name === "..") {
      at = join(at, "..")
      missing = Math.max(0, missing - 1)
      stats = undefined
      continue
    }
    if (++names > MAX_NAMES) return undefined
    at = joinPath(at, name)
    stats = missing > 0 ? undefined : lookups.stats(at)
    if (stats === undefined) missing++
    else if (stats.isSymbolicLink()) {
      // The links of /proc have no length, and lead to another place for each process.
      if (++links > MAX_LINKS || stats.size === 0) return undefined
      const to = lookups.linkAt(at)
      if (to.length + pending.length > MAX_LENGTH) return undefined
      at = isAbsolute(to) ? parse(to).root : join(at, "..")
      pending.push(...to.split(separator).toReversed())
      stats = undefined
    }
  }
  if (missing === 0) stats ??= lookups.stats(at)
  return { path: at, stats, missing, names, links }
}
