/**
 * Changes of a run that could not be determined. Unknown is not "none": a run with this record may have changed any file of its workspace.
 */
import { Schema } from "effect"

/** Why the changes are unknown. */
export const UnknownChangesReason = Schema.Literals([
  /** The Edge has no git program. */
  "no_git",
  /** The workspace could not be read within the time limit. */
  "too_large",
  /** The run has no snapshot of its start. */
  "no_start",
  /** The Edge ended before the run did. */
  "interrupted",
  /** git failed. `detail` has its message. */
  "failed"
])
export type UnknownChangesReason = typeof UnknownChangesReason.Type

export const unknownChangesFields = {
  reason: UnknownChangesReason,
  /** Message of git. */
  detail: Schema.optionalKey(Schema.String)
}

export const UnknownChanges = Schema.Struct(unknownChangesFields).annotate({ identifier: "UnknownChanges" })
export type UnknownChanges = typeof UnknownChanges.Type

const sentences: Readonly<Record<UnknownChangesReason, string>> = {
  no_git: "The Edge found no git program. Install git on its machine.",
  too_large: "The workspace could not be read within the time limit.",
  no_start: "There is no snapshot of the workspace from the start of the run.",
  interrupted: "The Edge ended before the run did.",
  failed: "git could not read the workspace."
}

/** The reason as a sentence. `reason` may be one of a later version. */
export const unknownChangesText = ({
  detail,
  reason
}: {
  readonly reason: string
  readonly detail?: string | undefined
}): string => {
  const sentence = Object.hasOwn(sentences, reason) ? sentences[reason as UnknownChangesReason] : reason
  return detail === undefined ? sentence : `${sentence} ${detail}`
}
