/**
 * Changes by a run that the Edge watches for: of protected names, which are files of the workspace that other programs run or obey, such as
 * settings, hooks and instructions of agents; and of the workspace's repository by a run in place that no approved command explains: its refs, what
 * is checked out, its index, and other files that git reads.
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

/** One ref. Without `from` it was created, without `to` deleted. */
export const RefChange = Schema.Struct({
  name: Schema.String,
  from: Schema.optionalKey(Schema.String),
  to: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RefChange" })
export type RefChange = typeof RefChange.Type

/** Another file of the repository. `path`: relative to `.git`, `/`-separated. */
export const RepositoryFileChange = Schema.Struct({
  path: Schema.String,
  change: ChangeKind,
  /** Corral has removed it: a list of further objects in a repository that the run has made. */
  discarded: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "RepositoryFileChange" })
export type RepositoryFileChange = typeof RepositoryFileChange.Type

export const repositoryChangedFields = {
  /** The first 20 refs that changed. */
  refs: Schema.Array(RefChange),
  /** Number of refs that changed. */
  count: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** The branch or commit that was checked out, and the one that is now. */
  head: Schema.optionalKey(Schema.Struct({ from: Schema.String, to: Schema.String })),
  /** Whether the next commit would contain other files. */
  index: Schema.optionalKey(Schema.Literal(true)),
  /** The first 20 other files that changed, such as lists of further objects or an unfinished merge. */
  files: Schema.optionalKey(Schema.Array(RepositoryFileChange)),
  /** Number of other files that changed. */
  fileCount: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  /** Some names were not compared: the repository has too many files, or they are too deep. */
  incomplete: Schema.optionalKey(Schema.Literal(true))
}

/** Changes of a workspace's repository by a run in place that no approved command explains. */
export const RepositoryChanged = Schema.Struct(repositoryChangedFields).annotate({
  identifier: "RepositoryChanged"
})
export type RepositoryChanged = typeof RepositoryChanged.Type

/** Largest number of refs, and of other files, that are listed. */
export const MAX_LISTED_REFS = 20
