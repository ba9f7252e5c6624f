/**
 * Worktrees: checkouts of runs with `isolation: "worktree"`, shared with the runs that resume them. Their paths stay on the Edge.
 */
import { Schema } from "effect"
import { RunId, WorkspaceId } from "../identity/Ids.ts"

/** Files that a worktree or a comparison does not contain. A folder counts as one. */
export const LeftOut = Schema.Struct({
  count: Schema.Int,
  /** The first 100 paths, relative to the workspace. */
  paths: Schema.Array(Schema.String)
}).annotate({ identifier: "LeftOut" })
export type LeftOut = typeof LeftOut.Type

/** Start of a run in a worktree. */
export const WorktreeStart = Schema.Struct({
  /** The run that owns the worktree. */
  runId: RunId,
  branch: Schema.String,
  /** The commit that the worktree started from. */
  base: Schema.String,
  /** Uncommitted files of the workspace. */
  leftOut: Schema.optionalKey(LeftOut)
}).annotate({ identifier: "WorktreeStart" })
export type WorktreeStart = typeof WorktreeStart.Type

/** A worktree and its state. */
export const Worktree = Schema.Struct({
  ...WorktreeStart.fields,
  workspace: WorkspaceId,
  /** `active` while a run uses it, then `kept` until a user removes it. */
  state: Schema.Literals(["active", "kept", "removed"]),
  /** Absent if the branch was removed with the worktree. */
  branch: Schema.optionalKey(Schema.String),
  /** Ref in the workspace's repository with the work that a forced removal saved. */
  ref: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "Worktree" })
export type Worktree = typeof Worktree.Type

/** A commit of a run in its worktree. */
export const WorktreeCommit = Schema.Struct({
  id: Schema.String,
  subject: Schema.String,
  author: Schema.String,
  at: Schema.String
}).annotate({ identifier: "WorktreeCommit" })
export type WorktreeCommit = typeof WorktreeCommit.Type

/** A worktree, checked for work that its removal would lose. */
export const ExaminedWorktree = Schema.Struct({
  ...Worktree.fields,
  /** The commit that is checked out, or was at the removal. */
  head: Schema.String,
  /** Whether it has uncommitted changes, staged or not. Ignored files do not count. */
  uncommitted: Schema.Boolean,
  /** Whether it or its branch has commits that no other branch or tag contains. */
  unmerged: Schema.Boolean
}).annotate({ identifier: "ExaminedWorktree" })
export type ExaminedWorktree = typeof ExaminedWorktree.Type
