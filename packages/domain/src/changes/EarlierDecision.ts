/** Decisions about changes of a conversation that were made since its last run. */
import { Schema } from "effect"
import { ChangeDecisionId } from "../identity/Ids.ts"

/** Decisions that a run names, and files of each. */
export const MAX_EARLIER_DECISIONS = 20
export const MAX_EARLIER_FILES = 20

/** A decision that the agent hears of with the message of a run. */
export const EarlierDecision = Schema.Struct({
  id: ChangeDecisionId,
  kind: Schema.Literals(["accept", "reject", "undo"]),
  /** The first 20 files, with the number of decided hunks. */
  files: Schema.Array(Schema.Struct({ path: Schema.String, hunks: Schema.Int })),
  fileCount: Schema.Int,
  comment: Schema.optionalKey(Schema.String),
  /** What an undo reversed. Absent if it reversed what the run wrote directly. */
  reversed: Schema.optionalKey(Schema.Literals(["accept", "reject"]))
}).annotate({ identifier: "EarlierDecision" })
export type EarlierDecision = typeof EarlierDecision.Type
