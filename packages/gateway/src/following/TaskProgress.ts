/**
 * Progress of a message and its run as a chat sees it, folded from the events of the run. Plain JSON, so that another Gateway can continue.
 *
 * Does not: contain the prompt, the output, a path or a diff.
 */
import { type EventHandlers, handleEvent } from "@corral/domain/run/EventTable"
import type { EventOf, RunEvent } from "@corral/domain/run/RunEvent"
import type { TerminalType } from "@corral/domain/run/RunEnd"
import type { RunFailure } from "@corral/domain/run/Run"
import { runtimeRemedies, runtimeRemedyOf } from "@corral/domain/run/RuntimeRemedy"
import type { Message } from "@corral/domain/session/Message"
import type { Task } from "@corral/domain/task/Task"
import { Schema } from "effect"

/**
 * `sending`: further input that the run in progress does not have yet. `sent`: it has it. `turn`: an earlier turn is in progress. `queued`: the
 * machine is offline. `held`: the queue is held after a stop or an error.
 */
const Phase = Schema.Literals([
  "sending",
  "sent",
  "starting",
  "turn",
  "held",
  "queued",
  "working",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "lost"
])
export type Phase = typeof Phase.Type

export const TaskProgress = Schema.Struct({
  phase: Phase,
  tools: Schema.Number,
  /** Number of changes. Distinct files are not counted: their paths stay at the Hub. */
  changes: Schema.Number,
  /** Number of pending approvals. */
  waiting: Schema.Number,
  /** Number of open questions. */
  questions: Schema.optional(Schema.Number),
  /** Number of works in the background. */
  background: Schema.optional(Schema.Number),
  /** Whether the agent has ended its turn, and the run continues. */
  idle: Schema.optional(Schema.Boolean),
  /** Hash of the text of the last turn that is in the chat. */
  lastText: Schema.optional(Schema.String),
  diff: Schema.optional(
    Schema.Struct({ files: Schema.Number, additions: Schema.Number, deletions: Schema.Number })
  ),
  /** Number of files with changes that no one has decided about, at the end of the run. */
  undecided: Schema.optional(Schema.Number),
  /** Changes of low risk, which can be accepted in the chat: their version, and their counts. */
  acceptable: Schema.optional(
    Schema.Struct({
      version: Schema.String,
      files: Schema.Number,
      additions: Schema.Number,
      deletions: Schema.Number
    })
  ),
  /** Number of files whose changes were accepted in the chat. */
  accepted: Schema.optional(Schema.Number),
  /** Whether the changes of the run could not be determined. */
  changesUnknown: Schema.optional(Schema.Boolean),
  /** Whether the run is paused. */
  paused: Schema.optional(Schema.Boolean),
  /** Whether the runtime received the earlier conversation as a text, because it does not remember it. */
  transcript: Schema.optional(Schema.Boolean),
  /** A code of the error table, or `LIMIT_REACHED`. */
  code: Schema.optional(Schema.String),
  /** What a user can do about an unavailable runtime. */
  remedy: Schema.optional(Schema.Literals(runtimeRemedies)),
  startedAt: Schema.optional(Schema.String),
  endedAt: Schema.optional(Schema.String)
})
export type TaskProgress = typeof TaskProgress.Type

export const startingProgress: TaskProgress = { phase: "starting", tools: 0, changes: 0, waiting: 0 }

/** Progress of further input. The run that receives it has its own card. */
export const inputProgress: TaskProgress = { ...startingProgress, phase: "sending" }

export const hasTaskEnded = ({ phase }: TaskProgress): boolean =>
  phase === "sent" || phase === "completed" || phase === "failed" || phase === "cancelled" || phase === "lost"

/** Whether the message has a card. */
export const hasCard = ({ phase }: TaskProgress): boolean => phase !== "sending" && phase !== "sent"

const ignore = (progress: TaskProgress): TaskProgress => progress

/** Progress of a run in progress, with these numbers. A connection at the start of the runtime can wait for a decision. */
const live = (progress: TaskProgress, change: Partial<TaskProgress>): TaskProgress => {
  const next = { ...progress, ...change }
  return { ...next, phase: next.waiting + (next.questions ?? 0) > 0 ? "waiting" : "working" }
}

/** One less, down to none. */
const less = (count = 0): number => Math.max(0, count - 1)

const end =
  (phase: Phase) =>
  (progress: TaskProgress, { createdAt }: EventOf<TerminalType>): TaskProgress => ({
    ...progress,
    phase,
    waiting: 0,
    questions: undefined,
    background: undefined,
    idle: undefined,
    paused: undefined,
    endedAt: createdAt
  })

/** Instead of the code where a limit of the project refused the start: no run has used a budget. */
export const LIMIT_REACHED = "limit_reached"

const isOfLimit = ({ code, details }: RunFailure): boolean =>
  code === "budget_exceeded" && String(details?.["reason"]).startsWith("limit_")

/** What a card shows of a failure. Its message and details stay at the Hub. */
const causeOf = (error: RunFailure | undefined): Pick<TaskProgress, "code" | "remedy"> => {
  const remedy = error && runtimeRemedyOf(error)
  return {
    code: error && (isOfLimit(error) ? LIMIT_REACHED : error.code),
    ...(remedy === undefined ? {} : { remedy })
  }
}

/** Change of the progress by each event type. */
const cardChanges: EventHandlers<TaskProgress, TaskProgress> = {
  "run.created": ignore,
  "run.started": (progress, { createdAt }) => live(progress, { startedAt: createdAt }),
  "run.paused": (progress) => ({ ...progress, paused: true }),
  "run.resumed": (progress) => ({ ...progress, paused: undefined }),
  "run.message.delta": ignore,
  "run.message.completed": ignore,
  "run.tool.call": (progress) => ({ ...progress, tools: progress.tools + 1 }),
  "run.tool.result": ignore,
  "run.file.read": ignore,
  "run.file.changed": (progress) => ({ ...progress, changes: progress.changes + 1 }),
  "run.diff.ready": (progress, { payload: { additions, deletions, files } }) => ({
    ...progress,
    diff: { files, additions, deletions }
  }),
  "run.changes.unknown": (progress) => ({ ...progress, changesUnknown: true }),
  "run.protected.changed": ignore,
  "run.repository.changed": ignore,
  "run.patch.proposed": ignore,
  "run.artifact.ready": ignore,
  "run.preview.ready": ignore,
  "run.approval.requested": (progress) => live(progress, { waiting: progress.waiting + 1 }),
  "run.approval.resolved": (progress) => live(progress, { waiting: less(progress.waiting) }),
  "run.completed": end("completed"),
  "run.failed": (progress, event) => ({ ...end("failed")(progress, event), ...causeOf(event.payload.error) }),
  "run.cancelled": end("cancelled"),
  "run.input.requested": (progress) => live(progress, { questions: (progress.questions ?? 0) + 1 }),
  "run.input.resolved": (progress) => live(progress, { questions: less(progress.questions) }),
  "run.work.started": (progress) => ({ ...progress, background: (progress.background ?? 0) + 1 }),
  "run.work.ended": (progress) => ({ ...progress, background: less(progress.background) }),
  "run.turn.started": (progress) => ({ ...progress, idle: undefined }),
  "run.turn.ended": (progress, { payload: { outstanding } }) => ({
    ...progress,
    idle: true,
    background: outstanding
  }),
  "run.usage.updated": ignore,
  "run.steps.updated": ignore,
  "run.notice": ignore,
  "runtime.unavailable": ignore,
  "runtime.retrying": ignore,
  "runtime.timeout": ignore,
  "schema.validation_failed": ignore,
  "integration.message.received": ignore,
  "integration.card.action": ignore,
  "identity.binding.required": ignore
}

/** Progress after an event; the same object if a card shows nothing of the event. */
export const progressAfter = (progress: TaskProgress, event: RunEvent): TaskProgress =>
  handleEvent(cardChanges, progress, event)

/** Progress of a message that has no run yet. `task`: the task that starts its run. */
export const progressBeforeRun = (
  progress: TaskProgress,
  { delivery, when }: Pick<Message, "delivery" | "when">,
  task: Pick<Task, "state"> | undefined
): TaskProgress => {
  const phaseIs = (phase: Phase): TaskProgress =>
    progress.phase === phase ? progress : { ...progress, phase }
  if (delivery === undefined) return phaseIs("lost")
  const { error, state } = delivery
  if (state === "failed") return { ...progress, phase: "failed", ...causeOf(error) }
  if (state === "withdrawn") return phaseIs("cancelled")
  if (when === "now") return phaseIs(state === "delivered" ? "sent" : "sending")
  if (delivery.held === true) return phaseIs("held")
  if (task === undefined) return phaseIs("turn")
  return phaseIs(task.state === "queued" ? "queued" : "starting")
}

/** Progress of a task of an earlier release that has no run to follow. */
export const progressWithoutRun = (
  progress: TaskProgress,
  task: Pick<Task, "state" | "error">
): TaskProgress => {
  switch (task.state) {
    case "failed":
      return { ...progress, phase: "failed", ...causeOf(task.error) }
    case "expired":
      return { ...progress, phase: "failed", code: "target_offline" }
    case "cancelled":
      return { ...progress, phase: "cancelled" }
    case "completed":
      return { ...progress, phase: "completed" }
    default:
      return progress
  }
}
