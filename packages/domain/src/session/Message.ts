/**
 * Messages of a session: notes of users, messages of users to an agent, and the text of each turn of a run. The output of a turn in progress is
 * in the run's events.
 */
import { Schema } from "effect"
import { AgentInstanceId, MessageId, RunId, SessionId, TaskGroupId, TaskId, UserId } from "../identity/Ids.ts"
import { Budget, ChangedLimits } from "../run/Budget.ts"
import { CreateRun, RunFailure, RunMode } from "../run/Run.ts"
import { OnOffline } from "../task/Task.ts"
import { isStorableText } from "../text/Text.ts"
import { Attachment, AttachmentIds } from "./Attachment.ts"

/** A user or an agent of the session. */
export const MessageAuthor = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("user"), userId: UserId }),
  Schema.Struct({ kind: Schema.Literal("agent"), agentInstanceId: AgentInstanceId })
])
export type MessageAuthor = typeof MessageAuthor.Type

/** Recipient of a message: an agent of the session, or `people` for a note that no agent receives. */
export const MessageRecipient = Schema.Union([Schema.Literal("people"), AgentInstanceId])
export type MessageRecipient = typeof MessageRecipient.Type

/** `next`: the message starts the next turn of its agent. `now`: it is further input to the run in progress. */
export const MessageTime = Schema.Literals(["next", "now"])
export type MessageTime = typeof MessageTime.Type

/**
 * State of a message to an agent. `pending`: no Edge is known to have it. `delivered`: the log of the run contains it. `failed`: it did not reach
 * a run. `withdrawn`: a user withdrew it, or archived the session, before it reached a run.
 */
export const DeliveryState = Schema.Literals(["pending", "delivered", "failed", "withdrawn"])
export type DeliveryState = typeof DeliveryState.Type

/**
 * What the agent knows of the conversation. `new`: this is its first message. `resumed`: the runtime continues its own conversation.
 * `transcript`: the runtime does not remember earlier turns, and received them as a text before the message.
 */
export const DeliveryContext = Schema.Literals(["new", "resumed", "transcript"])
export type DeliveryContext = typeof DeliveryContext.Type

/**
 * What a pending message waits for besides the end of a turn. `input`: the run in progress asks a question. `background`: the run in progress
 * only works in the background, and can't receive the message: it has another mode, model or limits, is paused, or its runtime takes no messages.
 */
export const WaitReason = Schema.Literals(["input", "background"])
export type WaitReason = typeof WaitReason.Type

/** Delivery of a message to its agent. */
export const MessageDelivery = Schema.Struct({
  state: DeliveryState,
  /** The run that received the message, or is about to. */
  runId: Schema.optionalKey(RunId),
  /** The task that starts this run. */
  taskId: Schema.optionalKey(TaskId),
  /** Absent until the message starts a run, and for further input. */
  context: Schema.optionalKey(DeliveryContext),
  /** Only if `pending`. */
  waitsFor: Schema.optionalKey(WaitReason),
  /** Only if `pending`, and only `true`: the queue of its agent is held, and the message is in it. */
  held: Schema.optionalKey(Schema.Boolean),
  /** Only if `failed`. */
  error: Schema.optionalKey(RunFailure)
}).annotate({ identifier: "MessageDelivery" })
export type MessageDelivery = typeof MessageDelivery.Type

/** End of the run whose final text an agent's message is. */
export const AnswerOutcome = Schema.Literals(["completed", "failed", "cancelled"])
export type AnswerOutcome = typeof AnswerOutcome.Type

/**
 * A message of a session. `runId`: the run that it belongs to; an answer is the final text of that run. `to`, `when`, `mode`, `model`, `budget`,
 * `timeoutMs` and `delivery`: only messages to an agent, and `to` for notes. `outcome` and `error`: only answers. `turn` and `outstanding`: only the text of a
 * turn after which its run continued, with the number of works in the background then. `groupId`: of a message that several candidates received; each
 * has its own, with the same text. `version` increases with each change of a message in
 * the session.
 */
export const Message = Schema.Struct({
  id: MessageId,
  sessionId: SessionId,
  author: MessageAuthor,
  text: Schema.String,
  runId: Schema.optionalKey(RunId),
  to: Schema.optionalKey(MessageRecipient),
  when: Schema.optionalKey(MessageTime),
  mode: Schema.optionalKey(RunMode),
  model: Schema.optionalKey(Schema.String),
  /** Limits of its run, with the agent's. */
  budget: Schema.optionalKey(Budget),
  timeoutMs: Schema.optionalKey(Schema.Int),
  /** Absent if there are none. */
  attachments: Schema.optionalKey(Schema.Array(Attachment)),
  delivery: Schema.optionalKey(MessageDelivery),
  outcome: Schema.optionalKey(AnswerOutcome),
  error: Schema.optionalKey(RunFailure),
  turn: Schema.optionalKey(Schema.Int),
  outstanding: Schema.optionalKey(Schema.Int),
  groupId: Schema.optionalKey(TaskGroupId),
  version: Schema.Int,
  createdAt: Schema.String,
  editedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Message" })
export type Message = typeof Message.Type

/** Longest text of a message, in UTF-16 units. */
export const MAX_MESSAGE_TEXT = 262_144

const text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(MAX_MESSAGE_TEXT), isStorableText)

/**
 * Body of POST /client/sessions/{id}/messages. Without `to`, the message goes to the session's default agent. In a session without agents, and
 * with a `runId`, it is a note. `mode`, `model`, `timeoutMs` and each limit of `budget` hold for this turn; the agent's are the default. `onOffline` is `fail` by default.
 * `expiresAt` limits the wait of `queue`. `attachments` are uploads of the caller that no message has.
 */
export const CreateMessage = Schema.Struct({
  text,
  runId: Schema.optionalKey(RunId),
  to: Schema.optionalKey(MessageRecipient),
  when: Schema.optionalKey(MessageTime),
  mode: Schema.optionalKey(RunMode),
  model: CreateRun.fields.model,
  budget: CreateRun.fields.budget,
  timeoutMs: CreateRun.fields.timeoutMs,
  onOffline: Schema.optionalKey(OnOffline),
  expiresAt: Schema.optionalKey(Schema.String.check(isStorableText)),
  attachments: Schema.optionalKey(AttachmentIds)
}).annotate({ identifier: "CreateMessage" })
export type CreateMessage = typeof CreateMessage.Type

/**
 * Body of PATCH /client/sessions/{id}/messages/{messageId}: the version that the caller has read, and what changes. `budget` replaces the whole
 * budget; limits that it does not have, and `null`, are the agent's.
 */
export const UpdateMessage = Schema.Struct({
  version: Schema.Int,
  text: Schema.optionalKey(text),
  mode: Schema.optionalKey(RunMode),
  model: CreateRun.fields.model,
  ...ChangedLimits.fields
}).annotate({ identifier: "UpdateMessage" })
export type UpdateMessage = typeof UpdateMessage.Type
