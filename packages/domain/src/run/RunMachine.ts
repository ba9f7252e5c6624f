/**
 * State machine of a run. `transition` takes an input (runtime output, a decision, a cancel, the end of the process) and returns events to
 * append and actions to take.
 *
 * Guarantees: pure, without clock, ids or I/O. Every returned event has passed `accept`, the table in `RunState`. The terminal event follows
 * `Ended`.
 * Does not: end the process. `Ended` reports that.
 */
import type { ApprovalRequest, DecisionOrigin } from "../approval/Approval.ts"
import type { ApprovalId } from "../identity/Ids.ts"
import { isContinuation, outcomeAfter } from "./Rejection.ts"
import type { RunFailure, Usage } from "./Run.ts"
import { isTerminal } from "./RunEnd.ts"
import { draft, type EventDraft, type PayloadOf } from "./RunEvent.ts"
import { accept, type ResolutionState, type RunState } from "./RunState.ts"
import type { AdapterEvent, ApprovalAnswer, Outcome } from "./RuntimeAdapter.ts"

/** Source of a decision, for the audit: a user or a policy. */
export interface DecidedBy {
  readonly by?: string | undefined
}

/** The requested and the edited input, as the log shows them. */
export interface InputEdit {
  readonly requestedInput: unknown
  readonly allowedInput: unknown
}

/** Whether an event or a request is the Edge's own, and not output of the runtime. */
interface Source {
  readonly isFromEdge?: boolean | undefined
}

/** Input of the state machine. */
export type RunMachineInput =
  | { readonly _tag: "Created"; readonly payload: PayloadOf<"run.created"> }
  | { readonly _tag: "Spawned" }
  | ({ readonly _tag: "EventEmitted"; readonly event: AdapterEvent } & Source)
  | ({
      readonly _tag: "ApprovalRequested"
      readonly approvalId: ApprovalId
      readonly request: ApprovalRequest
      readonly expiresAt: string
    } & Source)
  | { readonly _tag: "ApprovalWithdrawn"; readonly approvalId: ApprovalId; readonly reason: string }
  | ({
      readonly _tag: "ApprovalDecided"
      readonly approvalId: ApprovalId
      readonly answer: ApprovalAnswer
      readonly origin?: DecisionOrigin | undefined
      readonly edit?: InputEdit | undefined
    } & DecidedBy)
  | { readonly _tag: "ApprovalExpired"; readonly approvalId: ApprovalId }
  /** The runtime reported its outcome. The process is still running. */
  | { readonly _tag: "OutcomeReported"; readonly outcome: Outcome; readonly reason?: string | undefined }
  /** Usage so far. The terminal event contains it if the outcome has no usage. */
  | { readonly _tag: "UsageReported"; readonly usage: Usage }
  /** The Edge fails the run regardless of the runtime: a limit was reached, or its mode was violated. */
  | { readonly _tag: "FailureImposed"; readonly error: RunFailure }
  | ({ readonly _tag: "CancelRequested"; readonly reason?: string | undefined } & DecidedBy)
  /** All processes of the run are frozen, because a user requested that. */
  | ({ readonly _tag: "Frozen"; readonly reason?: string | undefined } & DecidedBy)
  | ({ readonly _tag: "ResumeRequested"; readonly reason?: string | undefined } & DecidedBy)
  | {
      readonly _tag: "TimedOut"
      readonly kind: PayloadOf<"runtime.timeout">["kind"]
      readonly afterMs: number
    }
  /** All processes of the run have ended. */
  | { readonly _tag: "Ended" }

export type TransitionAction =
  | { readonly _tag: "Append"; readonly event: EventDraft }
  /** Send the decision to the runtime. */
  | { readonly _tag: "Answer"; readonly approvalId: ApprovalId; readonly answer: ApprovalAnswer }
  /** Let the frozen processes continue. */
  | { readonly _tag: "Thaw" }
  /** Close stdin and give the process time to exit. */
  | { readonly _tag: "Leave" }
  /** End the process: protocol cancel, then signals. */
  | { readonly _tag: "Stop" }
  /** Refuse the command. */
  | { readonly _tag: "Refuse"; readonly code: "approval_already_resolved" | "approval_expired" | "not_found" }

export type Transition = readonly [state: RunState, actions: ReadonlyArray<TransitionAction>]

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

const sourceOf = (by: string | undefined, reason: string | undefined): PayloadOf<"run.resumed"> => ({
  ...(reason === undefined ? {} : { reason }),
  ...(by === undefined ? {} : { by })
})

/** One transition in progress: the state so far and the collected actions. Drops events that `accept` refuses. */
class Step {
  state: RunState
  readonly actions: Array<TransitionAction> = []

  constructor(state: RunState) {
    this.state = state
  }

  append(event: EventDraft): boolean {
    const next = accept(this.state, event)
    if (!next.ok) return false
    this.state = next.state
    this.actions.push({ _tag: "Append", event })
    return true
  }

  act(action: TransitionAction): void {
    this.actions.push(action)
  }

  /** Before the end of the run: cancels all pending approvals, answers the runtime, and ends a pause. */
  settle(reason: string): void {
    for (const approvalId of this.state.pending) {
      this.append(draft("run.approval.resolved", { approvalId, state: "cancelled", reason }))
      this.act({ _tag: "Answer", approvalId, answer: { decision: "cancel", scope: "once", reason } })
    }
    this.resume({ reason })
  }

  /** Ends a pause, if there is one. */
  resume({ by, reason }: DecidedBy & { readonly reason?: string | undefined }): void {
    if (this.append(draft("run.resumed", sourceOf(by, reason)))) this.act({ _tag: "Thaw" })
  }

  /** Records that the runtime learned of a rejected action. */
  reject(approvalId: ApprovalId, state: "denied" | "expired", reason?: string): void {
    this.state = { ...this.state, rejection: { approvalId, state, reason } }
  }

  /** Records that the runtime continues after a rejection. */
  proceed(): void {
    if (this.state.rejection !== undefined) this.state = { ...this.state, rejection: undefined }
  }

  /** Output before `run.started` implies the start. What the Edge adds does not: the runtime has yet to say which conversation it has. */
  ensureStarted({ isFromEdge = false }: Source): void {
    if (!this.state.started && !isFromEdge) this.append(draft("run.started", {}))
  }

  conclude(outcome: Outcome, cancelledBy?: string): void {
    this.state = { ...this.state, verdict: outcome, cancelledBy }
  }

  done(): Transition {
    return [this.state, this.actions]
  }
}

const nothing: ReadonlyArray<TransitionAction> = []
const leave: ReadonlyArray<TransitionAction> = [{ _tag: "Leave" }]

/** Whether the event keeps the state. The hot path: streamed text of a started run. `accept` gives the same result with more checks. */
const keepsState = (state: RunState, event: EventDraft): boolean =>
  event.type === "run.message.delta" && state.started && state.rejection === undefined

/** The state and the actions after an input. Terminal states ignore every input except commands, which they answer. */
export const transition = (state: RunState, input: RunMachineInput): Transition => {
  if (state.status !== undefined && isTerminal(state.status)) {
    return input._tag === "ApprovalDecided" || input._tag === "ApprovalExpired"
      ? decideSettled(state, input)
      : [state, nothing]
  }
  const step = new Step(state)
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
      if (step.append(input.event) && isContinuation(input.event)) step.proceed()
      return step.done()
    case "ApprovalRequested":
      return requestApproval(step, input)
    case "ApprovalWithdrawn":
      step.append(
        draft("run.approval.resolved", {
          approvalId: input.approvalId,
          state: "cancelled",
          reason: input.reason
        })
      )
      return step.done()
    case "ApprovalDecided":
      return decide(step, input)
    case "ApprovalExpired":
      return expire(step, input.approvalId)
    case "OutcomeReported":
      // The run is being stopped and the runtime has finished: give the process time to exit.
      if (state.verdict !== undefined) return [state, leave]
      step.conclude(outcomeAfter(step.state.rejection, input.outcome))
      step.settle(input.reason ?? "the runtime ended its turn")
      step.act({ _tag: "Leave" })
      return step.done()
    case "UsageReported":
      return [{ ...state, used: input.usage }, nothing]
    case "FailureImposed":
      return overrule(step, input.error)
    case "CancelRequested":
      if (state.verdict === undefined) {
        step.conclude({ _tag: "Cancelled", reason: input.reason }, input.by)
        step.settle("the run was cancelled")
      }
      step.act({ _tag: "Stop" })
      return step.done()
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

const requestApproval = (
  step: Step,
  input: Extract<RunMachineInput, { _tag: "ApprovalRequested" }>
): Transition => {
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

const expire = (step: Step, approvalId: ApprovalId): Transition => {
  const reason = "the approval expired"
  if (step.append(draft("run.approval.resolved", { approvalId, state: "expired", reason }))) {
    step.reject(approvalId, "expired")
    step.act({ _tag: "Answer", approvalId, answer: { decision: "deny", scope: "once", reason } })
  }
  return step.done()
}

const timeOut = (
  step: Step,
  { afterMs, kind }: Extract<RunMachineInput, { _tag: "TimedOut" }>
): Transition => {
  if (step.state.verdict === undefined) {
    step.append(draft("runtime.timeout", { kind, afterMs }))
    step.conclude({ _tag: "Failed", error: timeoutFailure(kind, afterMs) })
    step.settle("the run timed out")
  }
  step.act({ _tag: "Stop" })
  return step.done()
}

const decide = (step: Step, input: Extract<RunMachineInput, { _tag: "ApprovalDecided" }>): Transition => {
  const { approvalId, answer, by, edit, origin } = input
  if (!step.state.pending.includes(approvalId)) return decideSettled(step.state, input)
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
  input: Extract<RunMachineInput, { _tag: "ApprovalDecided" | "ApprovalExpired" }>
): Transition => {
  if (input._tag === "ApprovalExpired") return [state, nothing]
  const resolution = state.resolved.get(input.approvalId)
  if (resolution === undefined) return [state, [{ _tag: "Refuse", code: "not_found" }]]
  const isEdited = input.answer.updatedInput !== undefined || state.edited?.has(input.approvalId) === true
  if (resolution === resolutionOf(input.answer) && !isEdited) return [state, nothing]
  return [
    state,
    [{ _tag: "Refuse", code: resolution === "expired" ? "approval_expired" : "approval_already_resolved" }]
  ]
}

/** A cancelled run stays cancelled: the user has seen that result. */
const overrule = (step: Step, error: RunFailure): Transition => {
  const { verdict } = step.state
  if (verdict?._tag === "Cancelled") return step.done()
  step.conclude({ _tag: "Failed", error, ...(verdict?.usage === undefined ? {} : { usage: verdict.usage }) })
  step.settle("the run was ended")
  if (verdict === undefined) step.act({ _tag: "Stop" })
  return step.done()
}

const end = (step: Step): Transition => {
  const verdict: Outcome = step.state.verdict ?? {
    _tag: "Failed",
    error: {
      code: "runtime_unavailable",
      message: "The runtime ended without a result.",
      details: { reason: "crashed" }
    }
  }
  if (step.state.verdict === undefined) step.conclude(verdict)
  step.settle("the run ended")
  for (const [callId, tool] of step.state.openCalls) {
    const status = verdict._tag === "Cancelled" ? "cancelled" : "failed"
    step.append(draft("run.tool.result", { callId, tool, status }))
  }
  const used = verdict.usage ?? step.state.used
  const usage = used === undefined ? {} : { usage: used }
  const by = step.state.cancelledBy === undefined ? {} : { by: step.state.cancelledBy }
  switch (verdict._tag) {
    case "Completed":
      step.append(
        draft("run.completed", { ...usage, ...(verdict.text === undefined ? {} : { text: verdict.text }) })
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

const timeoutFailure = (kind: PayloadOf<"runtime.timeout">["kind"], afterMs: number): RunFailure => {
  const message = {
    run: "The run exceeded its configured timeout.",
    cap: "The run exceeded the absolute limit of its lifetime.",
    first_event: "The runtime produced no output after the start.",
    silence: "The runtime stopped producing output."
  }[kind]
  return { code: "run_timeout", message, details: { kind, afterMs } }
}
