/**
 * State machine of a run. `transition` takes an input (runtime output, a decision, a cancel, the end of the process) and returns events to
 * append and actions to take.
 *
 * An outcome ends the run when no work is outstanding, no question is open and no further turn is due. Until then it is held, and the newest one
 * counts. The start of a turn discards it.
 *
 * Guarantees: pure, without clock, ids or I/O. Every returned event has passed `accept`, the table in `RunState`. The terminal event follows
 * `Ended`.
 * Does not: end the process. `Ended` reports that.
 */
import type { ApprovalId } from "../identity/Ids.ts"
import type { MachineInputOf, RunMachineInput, Transition, TransitionAction } from "./MachineInput.ts"
import {
  resolveQuestion,
  refuseAnswer,
  expireQuestion,
  raiseQuestion,
  retractQuestion
} from "./QuestionTransitions.ts"
import { isContinuation } from "./Rejection.ts"
import type { RunFailure } from "./Run.ts"
import { isTerminal } from "./RunEnd.ts"
import { draft, type EventDraft, type PayloadOf } from "./RunEvent.ts"
import { MAX_OPEN_CALLS, type ResolutionState, type RunState } from "./RunState.ts"
import type { ApprovalAnswer, Outcome } from "./RuntimeAdapter.ts"
import { sourceOf, TransitionStep, withUsage } from "./TransitionStep.ts"
import { changeWork, finish, reportOutcome, settleTurn, startTurn } from "./TurnTransitions.ts"

export type {
  DecidedBy,
  InputEdit,
  RefusalCode,
  RunMachineInput,
  Transition,
  TransitionAction
} from "./MachineInput.ts"
export { isSettling } from "./TransitionStep.ts"

const resolutionOf = (answer: ApprovalAnswer): ResolutionState => {
  switch (answer.decision) {
    case "allow":
      return "approved"
    case "deny":
      return "denied"
    case "cancel":
      return "cancelled"
  }
}

const nothing: ReadonlyArray<TransitionAction> = []

/** Whether the event keeps the state. The hot path: streamed text of a started run. `accept` gives the same result with more checks. */
const keepsState = (state: RunState, event: EventDraft): boolean =>
  event.type === "run.message.delta" && state.started && state.rejection === undefined

/** The state and the actions after an input. Terminal states ignore every input except commands, which they answer. */
export const transition = (state: RunState, input: RunMachineInput): Transition => {
  if (state.status !== undefined && isTerminal(state.status)) {
    if (input._tag === "ApprovalDecided" || input._tag === "ApprovalExpired")
      return decideSettled(state, input)
    return input._tag === "InputAnswered" ? refuseAnswer(state, input.inputId) : [state, nothing]
  }
  const step = new TransitionStep(state)
  switch (input._tag) {
    case "Created":
      step.append(draft("run.created", input.payload))
      return step.done()
    case "Spawned":
      return state.status === "created" ? [{ ...state, status: "starting" }, nothing] : [state, nothing]
    case "EventEmitted":
      if (keepsState(state, input.event)) return [state, [{ _tag: "Append", event: input.event }]]
      if (input.event.type !== "run.started" && !input.event.type.startsWith("runtime."))
        step.ensureStarted(input)
      if (hasTooManyCalls(step.state, input.event)) return failWithTooManyCalls(step)
      if (step.append(input.event) && isContinuation(input.event)) step.proceed()
      return step.done()
    case "ApprovalRequested":
      return requestApproval(step, input)
    case "ApprovalWithdrawn":
      return withdrawApproval(step, input)
    case "ApprovalDecided":
      return decide(step, input)
    case "ApprovalExpired":
      return expire(step, input.approvalId)
    case "InputRequested":
      return raiseQuestion(step, input)
    case "InputWithdrawn":
      return retractQuestion(step, input)
    case "InputAnswered":
      return resolveQuestion(step, input)
    case "InputExpired":
      return expireQuestion(step, input.inputId)
    case "WorkChanged":
      return changeWork(step, input)
    case "TurnStarted":
      return startTurn(step, input)
    case "Settled":
      return settleTurn(step)
    case "FinishRequested":
      return finish(step, input)
    case "OutcomeReported":
      return reportOutcome(step, input)
    case "UsageReported":
      return [withUsage(state, input.usage), nothing]
    case "FailureImposed":
      return overrule(step, input)
    case "CancelRequested":
      return cancel(step, input)
    case "Frozen":
      // A run that is ending has resumed its processes.
      if (state.verdict === undefined) step.append(draft("run.paused", sourceOf(input.by, input.reason)))
      return step.done()
    case "ResumeRequested":
      step.resume(input)
      return step.done()
    case "TimedOut":
      return timeOut(step, input)
    case "Ended":
      return end(step)
  }
}

/** Whether the event opens one call more than a run may have. */
const hasTooManyCalls = ({ openCalls, verdict }: RunState, event: EventDraft): boolean =>
  event.type === "run.tool.call" &&
  openCalls.size >= MAX_OPEN_CALLS &&
  verdict === undefined &&
  !openCalls.has(event.payload.callId)

const failWithTooManyCalls = (step: TransitionStep): Transition =>
  overrule(step, {
    _tag: "FailureImposed",
    reason: "the runtime opened too many tool calls",
    error: {
      code: "runtime_unavailable",
      message: `The runtime opened more than ${MAX_OPEN_CALLS} tool calls at a time and reported no results.`,
      details: { reason: "too_many_calls", limit: MAX_OPEN_CALLS }
    }
  })

const requestApproval = (step: TransitionStep, input: MachineInputOf<"ApprovalRequested">): Transition => {
  const { approvalId, expiresAt, request } = input
  // A run that is already ending requests no approvals.
  if (step.state.verdict !== undefined) {
    const answer = { decision: "cancel", scope: "once", reason: "the run is ending" } as const
    step.act({ _tag: "Answer", approvalId, answer })
    return step.done()
  }
  step.ensureStarted(input)
  if (step.append(draft("run.approval.requested", { approvalId, request, expiresAt }))) step.proceed()
  return step.done()
}

const withdrawApproval = (
  step: TransitionStep,
  { approvalId, reason }: MachineInputOf<"ApprovalWithdrawn">
): Transition => {
  step.append(draft("run.approval.resolved", { approvalId, state: "cancelled", reason }))
  return step.done()
}

const cancel = (step: TransitionStep, { by, reason }: MachineInputOf<"CancelRequested">): Transition => {
  if (step.state.verdict === undefined) {
    step.conclude({ _tag: "Cancelled", reason }, by)
    step.settle("the run was cancelled", "stopped")
  }
  step.act({ _tag: "Stop" })
  return step.done()
}

const expire = (step: TransitionStep, approvalId: ApprovalId): Transition => {
  const reason = "the approval expired"
  if (step.append(draft("run.approval.resolved", { approvalId, state: "expired", reason }))) {
    step.reject(approvalId, "expired")
    step.act({ _tag: "Answer", approvalId, answer: { decision: "deny", scope: "once", reason } })
  }
  return step.done()
}

const timeOut = (step: TransitionStep, { afterMs, kind }: MachineInputOf<"TimedOut">): Transition => {
  if (step.state.verdict === undefined) {
    step.append(draft("runtime.timeout", { kind, afterMs }))
    step.conclude({
      _tag: "Failed",
      error: kind === "background" ? unfinishedWork(step.state, afterMs) : timeoutFailure(kind, afterMs)
    })
    step.settle("the run timed out")
  }
  step.act({ _tag: "Stop" })
  return step.done()
}

const decide = (step: TransitionStep, input: MachineInputOf<"ApprovalDecided">): Transition => {
  const { approvalId, answer, by, edit, origin } = input
  if (!step.state.pending.has(approvalId)) return decideSettled(step.state, input)
  step.append(
    draft("run.approval.resolved", {
      approvalId,
      state: resolutionOf(answer),
      decision: answer.decision,
      scope: answer.scope,
      ...(answer.reason === undefined ? {} : { reason: answer.reason }),
      ...(by === undefined ? {} : { by }),
      ...(origin === undefined ? {} : { origin }),
      edited: edit !== undefined,
      ...edit
    })
  )
  if (answer.decision === "deny") step.reject(approvalId, "denied", answer.reason)
  step.act({ _tag: "Answer", approvalId, answer })
  if (answer.decision !== "cancel") return step.done()
  const [state, actions] = transition(step.state, { _tag: "CancelRequested", reason: answer.reason, by })
  return [state, [...step.actions, ...actions]]
}

/**
 * A decision on a resolved approval. The same decision is accepted, another is a conflict. A second edit is always a conflict: the first
 * edit is stored without secrets and cannot be compared.
 */
const decideSettled = (
  state: RunState,
  input: MachineInputOf<"ApprovalDecided" | "ApprovalExpired">
): Transition => {
  if (input._tag === "ApprovalExpired") return [state, nothing]
  const resolution = state.resolved.get(input.approvalId)
  if (resolution === undefined) return [state, [{ _tag: "Refuse", code: "not_found" }]]
  const isEdited = input.answer.updatedInput !== undefined || resolution.isEdited
  if (resolution.state === resolutionOf(input.answer) && !isEdited) return [state, nothing]
  return [
    state,
    [
      {
        _tag: "Refuse",
        code: resolution.state === "expired" ? "approval_expired" : "approval_already_resolved"
      }
    ]
  ]
}

/** A cancelled run stays cancelled: the user has seen that result. */
const overrule = (
  step: TransitionStep,
  { error, reason = "the run was ended" }: MachineInputOf<"FailureImposed">
): Transition => {
  const { verdict } = step.state
  if (verdict?._tag === "Cancelled") return step.done()
  step.conclude({ _tag: "Failed", error, ...(verdict?.usage === undefined ? {} : { usage: verdict.usage }) })
  step.settle(reason)
  if (verdict === undefined) step.act({ _tag: "Stop" })
  return step.done()
}

/** Outcome of a run whose process ended before the run had one. Work or a turn that is cut never completes a run. */
const outcomeAtExit = (state: RunState): Outcome => {
  const { held, isTurnDue, outstanding } = state
  if (held === undefined)
    return {
      _tag: "Failed",
      error: {
        code: "runtime_unavailable",
        message: "The runtime ended without a result.",
        details: { reason: "crashed" }
      }
    }
  const isCut = outstanding.size > 0 || isTurnDue === true
  return isCut && held._tag === "Completed"
    ? { _tag: "Failed", error: unfinishedWork(state), usage: held.usage }
    : held
}

const end = (step: TransitionStep): Transition => {
  const verdict: Outcome = step.state.verdict ?? outcomeAtExit(step.state)
  if (step.state.verdict === undefined) step.conclude(verdict)
  step.settle("the run ended")
  for (const [callId, tool] of step.state.openCalls.entries()) {
    const status = verdict._tag === "Cancelled" ? "cancelled" : "failed"
    step.append(draft("run.tool.result", { callId, tool, status }))
  }
  const used = verdict.usage ?? step.state.used ?? step.state.usage
  const usage = used === undefined ? {} : { usage: used }
  const by = step.state.cancelledBy === undefined ? {} : { by: step.state.cancelledBy }
  switch (verdict._tag) {
    case "Completed":
      step.append(
        draft("run.completed", {
          ...usage,
          ...(verdict.text === undefined ? {} : { text: verdict.text }),
          ...(verdict.stopped === undefined ? {} : { stopped: verdict.stopped })
        })
      )
      break
    case "Failed":
      step.append(draft("run.failed", { ...usage, error: verdict.error }))
      break
    case "Cancelled":
      step.append(
        draft("run.cancelled", {
          ...usage,
          ...by,
          ...(verdict.reason === undefined ? {} : { reason: verdict.reason })
        })
      )
      break
  }
  return step.done()
}

/** Failure of a run whose background work was cut, with the titles of the work. */
export const unfinishedWork = ({ outstanding }: RunState, afterMs?: number): RunFailure => ({
  code: "work_unfinished",
  message:
    afterMs === undefined
      ? "The runtime ended before its background work was done."
      : "The background work exceeded its time limit.",
  details: {
    work: outstanding.first(20).map(({ title }) => title),
    ...(afterMs === undefined ? {} : { afterMs })
  }
})

const timeoutFailure = (
  kind: Exclude<PayloadOf<"runtime.timeout">["kind"], "background">,
  afterMs: number
): RunFailure => {
  const message = {
    run: "The run exceeded its configured timeout.",
    cap: "The run exceeded the absolute limit of its lifetime.",
    first_event: "The runtime produced no output after the start.",
    silence: "The runtime stopped producing output."
  }[kind]
  return { code: "run_timeout", message, details: { kind, afterMs } }
}
