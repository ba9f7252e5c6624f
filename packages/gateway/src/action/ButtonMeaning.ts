/** Meaning of a button on a card, as it is stored: a decision, a cancellation, or a location for tasks. */
import { AgentId, ApprovalId, DeviceId, ProjectId, TaskId, WorkspaceId } from "@corral/domain/identity/Ids"
import { Schema } from "effect"

/** Where a task runs, and by which agent. */
export const WorkLocation = Schema.Struct({
  projectId: ProjectId,
  targetId: DeviceId,
  workspace: WorkspaceId,
  agentId: AgentId,
  /** Names for people. */
  names: Schema.Struct({
    project: Schema.String,
    target: Schema.String,
    agent: Schema.String
  })
})
export type WorkLocation = typeof WorkLocation.Type

export const ButtonMeaning = Schema.Union([
  Schema.TaggedStruct("Decide", { approvalId: ApprovalId, decision: Schema.Literals(["allow", "deny"]) }),
  Schema.TaggedStruct("Cancel", { taskId: TaskId }),
  Schema.TaggedStruct("Use", { talk: Schema.String, base: Schema.String, place: WorkLocation })
])
export type ButtonMeaning = typeof ButtonMeaning.Type

export const StoredMeaning = Schema.fromJsonString(ButtonMeaning)

/** Buttons with the same subject expire together, such as both decisions on one approval. */
export const subjectOf = (meaning: ButtonMeaning): string => {
  switch (meaning._tag) {
    case "Decide":
      return meaning.approvalId
    case "Cancel":
      return meaning.taskId
    case "Use":
      return meaning.talk
  }
}
