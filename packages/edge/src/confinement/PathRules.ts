/**
 * What a run may do with the paths of this machine, for a means that does not mount: its mounts without those that exist in the run only. Pure. Also
 * the variables that put the caches of such a run into its temporary folder.
 *
 * Guarantees: a rule comes after the rules for the folders around it, and the last rule for a path counts.
 */
import { isWithin } from "../workspace/PathContainment.ts"
import { type Mount, inOrder } from "./Mount.ts"
import { join } from "node:path"

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
