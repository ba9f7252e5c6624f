/**
 * Removal of empty control groups that Edges left when they were killed. An Edge that starts again on its home removes its own; the groups
 * of a home that is gone stay without this.
 *
 * Guarantees: a group is removed only if its name is one that an Edge gives, and if it and all groups inside are empty and older than 10
 * minutes. Edges make a group for each run, directly before they start the run's process, so the empty groups of a running Edge are
 * younger. The kernel refuses the removal of a group with a process or with a group inside, so nothing that arrives meanwhile is lost.
 *
 * Does not: end processes, or look outside the folder in which this Edge makes its groups.
 */
import { Clock, Effect } from "effect"
import { rmdirSync, statSync } from "node:fs"
import { basename } from "node:path"
import { edgeGroup, groupsIn, isPopulated } from "./ControlGroup.ts"

const MIN_AGE_MS = 600_000
/** A group with more groups inside was made by a run, and is left to its Edge. */
const MAX_INSIDE = 10_000

const NAME = /^corral-(?:edge_[0-9A-Z]{26}|proof-[0-9]{1,10}-[0-9a-f-]{36})$/

/** The group and all groups inside, each after the groups inside it; `undefined` if there are too many. */
const treeOf = (group: string): ReadonlyArray<string> | undefined => {
  const found = [group]
  for (let at = 0; at < found.length; at++) {
    const next = found[at]
    if (next !== undefined) found.push(...groupsIn(next))
    if (found.length > MAX_INSIDE) return undefined
  }
  return found.toReversed()
}

const changedAt = (group: string): number => statSync(group, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Removes the group if it is abandoned. Returns whether it did. */
const removeAbandoned = (group: string, now: number): boolean => {
  if (isPopulated(group)) return false
  const tree = treeOf(group)
  if (tree === undefined || tree.some((each) => now - changedAt(each) < MIN_AGE_MS)) return false
  try {
    for (const each of tree) rmdirSync(each)
    return true
  } catch {
    // Another user's, in use again, or removed by another Edge.
    return false
  }
}

/** Removes abandoned groups from a folder, one at a time, except those of the Edge `edgeId`. */
export const removeAbandonedGroups = Effect.fnUntraced(function* (folder: string, edgeId: string) {
  const now = yield* Clock.currentTimeMillis
  const ownGroup = edgeGroup(folder, edgeId)
  let removed = 0
  for (const group of groupsIn(folder)) {
    if (group === ownGroup || !NAME.test(basename(group))) continue
    if (removeAbandoned(group, now)) removed++
    yield* Effect.yieldNow
  }
  if (removed > 0) yield* Effect.logInfo("removed abandoned control groups", { groups: removed })
})
