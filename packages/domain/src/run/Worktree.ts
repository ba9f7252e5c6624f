/**
 * Checkout of a run with `isolation: "worktree"`, shared with the runs that resume it. Its path stays on the Edge.
 */
import { Schema } from "effect"
import { RunId, WorkspaceId } from "../identity/Ids.ts"

/** What the workspace had that is in no commit, and so is not in the worktree. A folder that is wholly new counts as one. */
export const LeftOut = Schema.Struct({
  count: Schema.Int,
  /** Relative to the workspace; 100 at most. */
  paths: Schema.Array(Schema.String)
}).annotate({ identifier: "LeftOut" })
export type LeftOut = typeof LeftOut.Type

/** Where a run in a worktree begins. */
export const WorktreeStart = Schema.Struct({
  /** The run that it was made for. */
  runId: RunId,
  branch: Schema.String,
  /** The commit that it was made from. */
  base: Schema.String,
  leftOut: Schema.optionalKey(LeftOut)
}).annotate({ identifier: "WorktreeStart" })
export type WorktreeStart = typeof WorktreeStart.Type

export const Worktree = Schema.Struct({
  ...WorktreeStart.fields,
  workspace: WorkspaceId,
  /** `active` while a run uses it, then `kept` until a user removes it. */
  state: Schema.Literals(["active", "kept", "removed"]),
  /** Absent where it is gone with the worktree. */
  branch: Schema.optionalKey(Schema.String),
  /** The ref in the workspace's repository that holds what a forced removal found. */
  ref: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "Worktree" })
export type Worktree = typeof Worktree.Type

/** A worktree that was looked through for work. */
export const ExaminedWorktree = Schema.Struct({
  ...Worktree.fields,
  /** The commit that is checked out, or was when it was removed. */
  head: Schema.String,
  /** Whether it holds files, or staged ones, that are in no commit. Ignored files do not count. */
  uncommitted: Schema.Boolean,
  /** Whether it or its branch holds commits that no other branch or tag has. */
  unmerged: Schema.Boolean
}).annotate({ identifier: "ExaminedWorktree" })
export type ExaminedWorktree = typeof ExaminedWorktree.Type
