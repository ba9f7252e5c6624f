/**
 * Bases of groups of runs: candidates for one task begin with the same files, also those that start later.
 *
 * Guarantees: the first start of a group in a workspace takes the base, and every other one finds it, also at the next Edge.
 */
import type { TaskGroupId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import type { Store, StoreFailed, Write } from "../store/Store.ts"
import { parseStored } from "../store/StoreDamage.ts"

/** The base of runs in worktrees is a commit, that of runs in layers also has the uncommitted files. */
export type GroupBaseKind = "worktree" | "layer"

/** A group of runs in one workspace. */
export interface RunGroup {
  readonly id: TaskGroupId
  readonly kind: GroupBaseKind
  /** Real path of the workspace. */
  readonly root: string
}

export interface GroupBase {
  /** Commit at which the repositories of the runs start; absent without one. */
  readonly commit?: string
  /** Tree of the files, in the shadow repository of the workspace. Of layers. */
  readonly tree?: string
  /** Paths that the tree does not have. */
  readonly incomplete?: ReadonlyArray<string>
}

export const findGroupBase = (
  store: Store["Service"],
  { id, kind, root }: RunGroup
): GroupBase | undefined => {
  const row = store.get<{ readonly base: string }>(
    "SELECT base FROM group_bases WHERE group_id = ? AND kind = ? AND root = ?",
    id,
    kind,
    root
  )
  return row === undefined ? undefined : parseStored<GroupBase>(row.base, "base of a group")
}

const putFirst = ({ id, kind, root }: RunGroup, base: GroupBase, now: number): Write => [
  "INSERT OR IGNORE INTO group_bases (group_id, kind, root, base, created_at) VALUES (?, ?, ?, ?, ?)",
  id,
  kind,
  root,
  JSON.stringify(base),
  now
]

/** Proposes a base. Succeeds with that of the group: the first one that was proposed. `now`: Unix milliseconds. */
export const claimGroupBase = (
  store: Store["Service"],
  group: RunGroup,
  base: GroupBase,
  now: number
): Effect.Effect<GroupBase, StoreFailed> =>
  Effect.map(store.commit([putFirst(group, base, now)]), () => findGroupBase(store, group) ?? base)

/** Time for which a base is stored. All runs of a group have started long before. */
const RETENTION_MS = 30 * 86_400_000

/** Deletes old bases. Returns the ids of their groups. */
export const forgetOldBases = (
  store: Store["Service"],
  now: number
): Effect.Effect<ReadonlyArray<TaskGroupId>, StoreFailed> =>
  Effect.suspend(() => {
    const before = now - RETENTION_MS
    const old = store.all<{ readonly id: TaskGroupId }>(
      "SELECT DISTINCT group_id AS id FROM group_bases WHERE created_at < ?",
      before
    )
    return old.length === 0
      ? Effect.succeed([])
      : Effect.as(
          store.commit([["DELETE FROM group_bases WHERE created_at < ?", before]]),
          old.map(({ id }) => id)
        )
  })
