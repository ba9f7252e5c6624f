/**
 * What a run changed in its workspace, against the workspace as it was when the run started. Needs no git.
 */
import { Schema } from "effect"
import { RunId } from "../identity/Ids.ts"
import { page } from "../http/Page.ts"

/** One hunk of a unified diff; every line starts with a space, `+`, `-` or `\`. */
export const DiffHunk = Schema.Struct({
  oldStart: Schema.Int,
  oldLines: Schema.Int,
  newStart: Schema.Int,
  newLines: Schema.Int,
  lines: Schema.Array(Schema.String)
})
export type DiffHunk = typeof DiffHunk.Type

/** `untracked` is a new file that git does not track; a binary file has no hunks. */
export const FileDiff = Schema.Struct({
  path: Schema.String,
  fromPath: Schema.optionalKey(Schema.String),
  status: Schema.Literals(["added", "modified", "deleted", "renamed", "untracked"]),
  binary: Schema.Boolean,
  additions: Schema.Int,
  deletions: Schema.Int,
  /** Whole hunks only; `truncated` where some were left out. */
  hunks: Schema.Array(DiffHunk),
  truncated: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "FileDiff" })
export type FileDiff = typeof FileDiff.Type

/** A page of files by path; the counts are those of the whole diff. */
export const Diff = Schema.Struct({
  ...page(FileDiff).fields,
  runId: RunId,
  additions: Schema.Int,
  deletions: Schema.Int
}).annotate({ identifier: "Diff" })
export type Diff = typeof Diff.Type
