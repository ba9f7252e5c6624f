/**
 * Caches in a user's home that a confined run has its own folder for, and what the run may do with it. Data and pure functions.
 *
 * A workspace has lasting caches, which no other workspace, no unconfined program and no run in a worktree sees. A later run
 * executes what is in them, so a run that may not change the workspace does not write them either.
 */
import { isWithin } from "../workspace/PathContainment.ts"
import type { Mount } from "./Mount.ts"

export interface CacheFolder {
  /** Relative to the home. */
  readonly name: string
  /** `cache`: programs fail if they cannot write it. `store`: programs read it and add to it. The home's own store is read, if it exists. */
  readonly kind: "cache" | "store"
}

export const cacheFolders: ReadonlyArray<CacheFolder> = [
  { name: ".cache", kind: "cache" },
  { name: ".npm", kind: "cache" },
  { name: ".cargo/registry", kind: "store" },
  { name: ".cargo/git", kind: "store" },
  { name: "go/pkg", kind: "store" }
]

/** A cache of one run. Without a source, it is in the run's temporary folder and deleted with it. */
export interface MountedCache {
  readonly name: string
  readonly source: string | undefined
  readonly isWritable: boolean
}

/**
 * The caches of a run. `isWriter`: whether the run may change the workspace. `folder` is that of its workspace. `homeHas` says which stores the
 * home itself has.
 */
export const cachesOf = (
  isWriter: boolean,
  folder: string | undefined,
  homeHas: (name: string) => boolean
): ReadonlyArray<MountedCache> =>
  cacheFolders.flatMap(({ kind, name }): ReadonlyArray<MountedCache> => {
    const source = folder === undefined ? undefined : `${folder}/${name}`
    if (kind === "store") {
      return source === undefined || homeHas(name) ? [] : [{ name, source, isWritable: isWriter }]
    }
    return [{ name, source: isWriter ? source : undefined, isWritable: true }]
  })

/**
 * Mounts of the caches. A cache is left out if another mount is inside: an earlier run may have put a link where that mount would be made.
 * `others` are the paths of the other mounts.
 */
export const cacheMounts = (
  caches: ReadonlyArray<MountedCache>,
  home: string,
  temporary: string,
  others: ReadonlyArray<string>
): ReadonlyArray<Mount> =>
  caches.flatMap(({ isWritable, name, source }): ReadonlyArray<Mount> => {
    const path = `${home}/${name}`
    if (others.some((other) => isWithin(path, other))) return []
    if (source !== undefined) return [{ kind: isWritable ? "write" : "read", path, source }]
    const target = `${temporary}/${name.slice(1)}`
    return [
      { kind: "folder", path: target },
      { kind: "link", path, target }
    ]
  })
