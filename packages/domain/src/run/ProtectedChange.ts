/**
 * Changes of protected names: files of the workspace that other programs run or obey, such as settings, hooks and instructions of agents.
 */
import { Schema } from "effect"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** How a file changed. */
export const ChangeKind = Schema.Literals(["created", "modified", "deleted"])
export type ChangeKind = typeof ChangeKind.Type

/** A change of one protected file or folder. `path`: relative to the workspace, `/`-separated. */
export const ProtectedChange = Schema.Struct({
  path: Schema.String,
  change: ChangeKind,
  /** The workspace did not receive it: it was made in the run's own copy of the folder. */
  discarded: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "ProtectedChange" })
export type ProtectedChange = typeof ProtectedChange.Type

export const protectedChangesFields = {
  /** Number of changes. */
  count,
  /** The first 20 changes. */
  files: Schema.Array(ProtectedChange),
  /** Some names were not compared: the workspace has too many files, or they are too deep. */
  incomplete: Schema.optionalKey(Schema.Literal(true))
}

/** Changes of a run that no approval names. */
export const ProtectedChanges = Schema.Struct(protectedChangesFields).annotate({
  identifier: "ProtectedChanges"
})
export type ProtectedChanges = typeof ProtectedChanges.Type

/** Largest number of changes that are listed. */
export const MAX_LISTED_CHANGES = 20

/** Both together. */
export const addProtectedChanges = (
  one: ProtectedChanges | undefined,
  other: ProtectedChanges
): ProtectedChanges => {
  const files = [...(one?.files ?? []), ...other.files].slice(0, MAX_LISTED_CHANGES)
  const isIncomplete = one?.incomplete === true || other.incomplete === true
  return {
    count: (one?.count ?? 0) + other.count,
    files,
    ...(isIncomplete ? { incomplete: true as const } : {})
  }
}
