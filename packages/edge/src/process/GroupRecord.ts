/**
 * Record of the folders in which the Edges of a home made control groups. A start looks for groups of its predecessor there, instead of in
 * the whole hierarchy, which on a large machine has thousands of groups. In the folder where the last Edge made its groups, the next one does
 * not prove control groups again.
 *
 * Guarantees: the record counts only during the boot, in the namespace and with the mounts for which it was written. Without a record that
 * counts, the whole hierarchy is searched.
 *
 * Does not: find a group that another program made under the Edge's name elsewhere. Its processes are found by their marks.
 */
import { Effect, Option, Schema } from "effect"
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { edgeGroup, groupsOfEdge, hierarchyName } from "./ControlGroup.ts"

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
