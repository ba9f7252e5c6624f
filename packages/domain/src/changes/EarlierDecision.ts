/** Decisions about changes of a conversation that were made since its last run. */
import { Schema } from "effect"
import { ChangeDecisionId, ChangedFileId, ChangeHunkId } from "../identity/Ids.ts"

/** Decisions that a run names, and files of each. */
export const MAX_EARLIER_DECISIONS = 20
export const MAX_EARLIER_FILES = 20

/** Comments of one decision. */
export const MAX_CHANGE_COMMENTS = 100
/** Characters of one comment. */
export const MAX_COMMENT_TEXT = 4_096
/** Lines of one edited hunk, and characters of each. */
export const MAX_EDITED_LINES = 2_000
export const MAX_EDITED_LINE = 16_384
/** Characters of the rejected lines and the suggestions that a decision names. Later ones are only counted. */
export const MAX_DECIDED_TEXT = 65_536

/**
 * Lines instead of those of a hunk, from its first to its last changed line: the added ones, and those between changes that stay. Without the first
 * character that lines of a hunk have. An empty list removes the lines.
 */
export const EditedLines = Schema.Array(Schema.String.check(Schema.isMaxLength(MAX_EDITED_LINE))).check(
  Schema.isMaxLength(MAX_EDITED_LINES)
)
export type EditedLines = typeof EditedLines.Type

/** A rejected hunk with what the person wrote about it, or a comment about a file. */
export const RejectedPart = Schema.Struct({
  fileId: ChangedFileId,
  hunkId: Schema.optionalKey(ChangeHunkId),
  path: Schema.String,
  /** The first line of the hunk in the base. */
  oldStart: Schema.optionalKey(Schema.Int),
  /** Lines of the hunk as they were. Absent without text to show, and beyond the limit of a decision. */
  lines: Schema.optionalKey(Schema.Array(Schema.String)),
  text: Schema.optionalKey(Schema.String),
  suggestion: Schema.optionalKey(EditedLines)
}).annotate({ identifier: "RejectedPart" })
export type RejectedPart = typeof RejectedPart.Type

/** A decision that the agent hears of with the message of a run. */
export const EarlierDecision = Schema.Struct({
  id: ChangeDecisionId,
  kind: Schema.Literals(["accept", "reject", "undo"]),
  /** The first 20 files, with the number of decided hunks. */
  files: Schema.Array(Schema.Struct({ path: Schema.String, hunks: Schema.Int })),
  fileCount: Schema.Int,
  comment: Schema.optionalKey(Schema.String),
  /** Hunks that were accepted as the person edited them. */
  edited: Schema.optionalKey(Schema.Int),
  /** Of a rejection: the first 100 hunks, and the comments about files. */
  rejected: Schema.optionalKey(Schema.Array(RejectedPart)),
  /** What an undo reversed. Absent if it reversed what the run wrote directly. */
  reversed: Schema.optionalKey(Schema.Literals(["accept", "reject"]))
}).annotate({ identifier: "EarlierDecision" })
export type EarlierDecision = typeof EarlierDecision.Type
