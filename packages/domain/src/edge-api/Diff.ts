/**
 * Changes of a run, compared with the workspace at its start. The workspace need not be a repository.
 */
import { Schema } from "effect"
import { RunId } from "../identity/Ids.ts"
import { page } from "../http/Page.ts"
import { LeftOut } from "../run/Worktree.ts"

/** One hunk of a unified diff. Every line starts with a space, `+`, `-` or `\`. */
export const DiffHunk = Schema.Struct({
  oldStart: Schema.Int,
  oldLines: Schema.Int,
  newStart: Schema.Int,
  newLines: Schema.Int,
  lines: Schema.Array(Schema.String)
})
export type DiffHunk = typeof DiffHunk.Type

/** Changes of one file. `untracked`: a new file that git does not track. A binary file has no hunks. */
export const FileDiff = Schema.Struct({
  path: Schema.String,
  fromPath: Schema.optionalKey(Schema.String),
  status: Schema.Literals(["added", "modified", "deleted", "renamed", "untracked"]),
  binary: Schema.Boolean,
  additions: Schema.Int,
  deletions: Schema.Int,
  /** Whole hunks only. `truncated` if the last ones are missing. */
  hunks: Schema.Array(DiffHunk),
  truncated: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "FileDiff" })
export type FileDiff = typeof FileDiff.Type

/** A page of changed files, ordered by path. `additions` and `deletions` count the lines of the whole diff. */
export const Diff = Schema.Struct({
  ...page(FileDiff).fields,
  runId: RunId,
  additions: Schema.Int,
  deletions: Schema.Int,
  /** Files that could not be compared, such as files without read permission. */
  leftOut: Schema.optionalKey(LeftOut)
}).annotate({ identifier: "Diff" })
export type Diff = typeof Diff.Type
