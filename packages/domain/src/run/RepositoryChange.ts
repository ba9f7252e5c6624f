/** Changes of a workspace's repository by a run in place that no approved command explains: its refs, what is checked out, and its index. */
import { Schema } from "effect"

/** One ref. Without `from` it was created, without `to` deleted. */
export const RefChange = Schema.Struct({
  name: Schema.String,
  from: Schema.optionalKey(Schema.String),
  to: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RefChange" })
export type RefChange = typeof RefChange.Type

export const repositoryChangedFields = {
  /** The first 20 refs that changed. */
  refs: Schema.Array(RefChange),
  /** Number of refs that changed. */
  count: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** The branch or commit that was checked out, and the one that is now. */
  head: Schema.optionalKey(Schema.Struct({ from: Schema.String, to: Schema.String })),
  /** Whether the next commit would contain other files. */
  index: Schema.optionalKey(Schema.Literal(true))
}

export const RepositoryChanged = Schema.Struct(repositoryChangedFields).annotate({
  identifier: "RepositoryChanged"
})
export type RepositoryChanged = typeof RepositoryChanged.Type

/** Largest number of refs that are listed. */
export const MAX_LISTED_REFS = 20
