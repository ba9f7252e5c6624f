/**
 * Mounts of a confined run, and their order. Also, for a means that does not mount, the rules for the paths of this machine that follow from them:
 * the mounts without those that exist in the run only, and the variables that put the caches of such a run into its temporary folder. Pure.
 *
 * Guarantees: a mount or a rule comes after those that contain it, and a path is mounted once. The last one of a path counts.
 */
import { join } from "node:path"
import { isWithin } from "../workspace/PathText.ts"

/** What is at `source`, or at the same path, outside of the run. */
export interface BindMount {
  readonly kind: "read" | "write"
  readonly path: string
  readonly source?: string | undefined
}

/** `hidden` covers a folder, `hidden_file` a file, that another mount would show. `folder` and `link` exist in the run only. */
export type Mount =
  | BindMount
  | { readonly kind: "folder" | "hidden" | "hidden_file"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }

const depthOf = (path: string): number => path.split("/").filter((name) => name !== "").length

/** The paths without those inside another one. */
export const outermost = (paths: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = new Set(paths)
  const isInside = (path: string): boolean => {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      if (all.has(path.slice(0, at))) return true
    return path !== "/" && all.has("/")
  }
  return [...all].filter((path) => !isInside(path))
}

/** The mounts in an order in which they can be made. */
export const inOrder = (mounts: ReadonlyArray<Mount>): ReadonlyArray<Mount> =>
  [...new Map(mounts.map((mount) => [mount.path, mount])).values()].toSorted(
    (a, b) => depthOf(a.path) - depthOf(b.path)
  )

const argumentsOf = (mount: Mount): ReadonlyArray<string> => {
  switch (mount.kind) {
    case "read":
      return ["--ro-bind", mount.source ?? mount.path, mount.path]
    case "write":
      return ["--bind", mount.source ?? mount.path, mount.path]
    case "folder":
      return ["--dir", mount.path]
    case "hidden":
      return ["--tmpfs", mount.path]
    case "hidden_file":
      return ["--ro-bind", "/dev/null", mount.path]
    case "link":
      return ["--symlink", mount.target, mount.path]
  }
}

/** Arguments of bubblewrap that make the mounts. What hides a folder is read-only once the mounts in it exist. */
export const mountArguments = (mounts: ReadonlyArray<Mount>): ReadonlyArray<string> => {
  const ordered = inOrder(mounts)
  return [
    ...ordered.flatMap(argumentsOf),
    ...ordered.flatMap(({ kind, path }) => (kind === "hidden" ? ["--remount-ro", path] : []))
  ]
}

// Variables that put the caches of a run into its temporary folder, for a means that cannot put a link into the home.

/** Variables of a run with this temporary folder. */
export const privateCaches = (temporary: string): Readonly<Record<string, string>> => ({
  XDG_CACHE_HOME: join(temporary, "cache"),
  npm_config_cache: join(temporary, "npm")
})

/** A folder with everything in it, or a file. A run reads what it writes. */
export interface PathRule {
  readonly access: "read" | "write" | "none"
  readonly path: string
}

const rulesOf = (mount: Mount): ReadonlyArray<PathRule> => {
  switch (mount.kind) {
    case "read":
    case "write":
      return mount.source === undefined ? [{ access: mount.kind, path: mount.path }] : []
    case "hidden":
    case "hidden_file":
      return [{ access: "none", path: mount.path }]
    default:
      return []
  }
}

/** The rules in their order. */
export const pathRules = (mounts: ReadonlyArray<Mount>): ReadonlyArray<PathRule> =>
  inOrder(mounts).flatMap(rulesOf)

/** Rules for paths in the folder, not for itself. */
export const rulesInside = (rules: ReadonlyArray<PathRule>, folder: string): ReadonlyArray<PathRule> =>
  rules.filter(({ path }) => path !== folder && isWithin(folder, path))
