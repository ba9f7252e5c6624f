/**
 * Control groups that Edges left: the record of the folders in which the Edges of a home made groups, and the removal of empty groups of any home.
 *
 * A start looks for groups of its predecessor in these folders, instead of in the whole hierarchy, which on a large machine has thousands of
 * groups. In the folder where the last Edge made its groups, the next one does not prove control groups again. The groups of a home that is gone
 * stay without the removal.
 *
 * Guarantees: the record counts only during the boot, in the namespace and with the mounts for which it was written. Without a record that counts,
 * the whole hierarchy is searched. A group is removed only if its name is one that an Edge gives, and if it and all groups inside are empty and
 * older than 10 minutes. Edges make a group for each run, directly before they start the run's process, so the empty groups of a running Edge are
 * younger. The kernel refuses the removal of a group with a process or with a group inside, so nothing that arrives meanwhile is lost.
 *
 * Does not: end processes, find a group that another program made under the Edge's name elsewhere (its processes are found by their marks), or
 * remove groups outside the folder in which this Edge makes its own.
 */
import { edgeGroup, groupsIn, groupsOfEdge, hierarchyName, isPopulated } from "./ControlGroup.ts"
import { Clock, Effect, Option, Schema } from "effect"
import { existsSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

const GroupRecord = Schema.Struct({
  hierarchy: Schema.String,
  folders: Schema.Array(Schema.String),
  /** The folder for which control groups are proven. */
  proven: Schema.optional(Schema.String)
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(GroupRecord))

/** Path of the record. */
export const groupRecordPath = (home: string): string => join(home, "control-groups.json")

const readText = (file: string): string | undefined => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return undefined
  }
}

/** The record, or `undefined` without one for this hierarchy. */
const readRecord = (home: string): typeof GroupRecord.Type | undefined => {
  const text = readText(groupRecordPath(home))
  if (text === undefined) return undefined
  const record = Option.getOrUndefined(decode(text))
  return record !== undefined && record.hierarchy === hierarchyName() ? record : undefined
}

/** Whether an earlier Edge of this home proved control groups in the folder. */
export const hasProof = (home: string, folder: string): boolean =>
  readRecord(home)?.proven === resolve(folder)

/** Groups that an Edge left: in the recorded folders, or anywhere. */
export const leftGroups = (home: string, edgeId: string): ReadonlyArray<string> =>
  readRecord(home)
    ?.folders.map((folder) => edgeGroup(folder, edgeId))
    .filter((group) => existsSync(group)) ?? groupsOfEdge(edgeId)

/**
 * Records folders: the one in which this Edge makes its groups, and those of `left` groups that could not be removed. Called before the
 * first group is made. A record that cannot be written is removed, so that the next start searches everywhere.
 */
export const recordGroups = Effect.fnUntraced(function* (
  home: string,
  folder: string | undefined,
  left: ReadonlyArray<string>
) {
  const hierarchy = hierarchyName()
  if (hierarchy === undefined) return
  const remaining = left.filter((group) => existsSync(group)).map((group) => dirname(group))
  const proven = folder === undefined ? undefined : resolve(folder)
  const folders = [...new Set([...(proven === undefined ? [] : [proven]), ...remaining])]
  const text = `${JSON.stringify({ hierarchy, folders, proven })}\n`
  const file = groupRecordPath(home)
  if (readText(file) === text) return
  yield* Effect.try({
    try: () => {
      writeFileSync(`${file}.new`, text, { mode: 0o600 })
      renameSync(`${file}.new`, file)
    },
    catch: String
  }).pipe(
    Effect.catch((cause) =>
      Effect.andThen(
        Effect.logWarning("failed to record the folders of control groups", { cause }),
        Effect.ignore(Effect.try(() => rmSync(file, { force: true })))
      )
    )
  )
})

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
