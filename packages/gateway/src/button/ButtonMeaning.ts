/** Meaning of a button on a card, as it is stored: a decision, an answer, a cancellation, a location, or whether messages wait for a machine. */
import {
  AgentId,
  ApprovalId,
  DeviceId,
  InputRequestId,
  MessageId,
  ProjectId,
  RunId,
  SessionId,
  TaskId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Schema } from "effect"

/** Where the agent of a session works, and which agent it is. */
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
  /** Of cards that an earlier release sent. */
  Schema.TaggedStruct("Cancel", { taskId: TaskId }),
  Schema.TaggedStruct("Stop", { sessionId: SessionId, messageId: MessageId }),
  /** Answer to a question, by its place among the buttons: an option's number from 0, or what the card's fields contain. */
  Schema.TaggedStruct("Answer", {
    inputId: InputRequestId,
    how: Schema.Union([
      Schema.Literals(["submit", "skip", "approve", "return"]),
      Schema.Struct({ option: Schema.Int })
    ])
  }),
  /** A message that may be the answer to a question: whether it is, or goes to the agent as a message. */
  Schema.TaggedStruct("Reply", {
    talk: Schema.String,
    base: Schema.String,
    message: Schema.String,
    inputId: InputRequestId,
    isAnswer: Schema.Boolean
  }),
  /** End of the background work of a run. */
  Schema.TaggedStruct("Finish", { runId: RunId, follow: Schema.String }),
  Schema.TaggedStruct("Use", { talk: Schema.String, base: Schema.String, place: WorkLocation }),
  Schema.TaggedStruct("Queue", { talk: Schema.String, base: Schema.String, agreed: Schema.Boolean })
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
    case "Stop":
      return meaning.messageId
    case "Answer":
      return meaning.inputId
    case "Reply":
      return `${meaning.talk} ${meaning.message}`
    case "Finish":
      return meaning.follow
    case "Use":
      return meaning.talk
    case "Queue":
      return `${meaning.talk} queue`
  }
}
