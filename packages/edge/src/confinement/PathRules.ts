/**
 * What a run may do with the paths of this machine, for a means that does not mount: its mounts without those that exist in the run only.
 * Pure.
 *
 * Guarantees: a rule comes after the rules for the folders around it, and the last rule for a path counts.
 */
import { isWithin } from "../workspace/PathContainment.ts"
import { inOrder, type Mount } from "./Mount.ts"

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
