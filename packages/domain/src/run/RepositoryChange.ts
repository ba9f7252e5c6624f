/**
 * Changes of a workspace's repository by a run in place that no approved command explains: its refs, what is checked out, its index, and other
 * files that git reads.
 */
import { Schema } from "effect"
import { ChangeKind } from "./ProtectedChange.ts"

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

export const RepositoryChanged = Schema.Struct(repositoryChangedFields).annotate({
  identifier: "RepositoryChanged"
})
export type RepositoryChanged = typeof RepositoryChanged.Type

/** Largest number of refs, and of other files, that are listed. */
export const MAX_LISTED_REFS = 20
