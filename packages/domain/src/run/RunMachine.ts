/**
 * The run machine: what a run does about what happens to it.
 *
 * `transition` takes an input (runtime output, a decision, a cancel, the end of the process) and answers with events to append and
 * actions to take; every event it answers with has passed `accept`, the table in `RunState`.
 *
 * Pure: no clock, no ids, no I/O. It does not promise that the process is gone; `Ended` says that, and only then comes the terminal event.
 */
import type { ApprovalRequest, DecisionOrigin } from "../approval/Approval.ts"
import type { ApprovalId } from "../identity/Ids.ts"
import { isContinuation, outcomeAfter } from "./Rejection.ts"
import { isTerminal, type RunFailure, type Usage } from "./Run.ts"
import { draft, type EventDraft, type PayloadOf } from "./RunEvent.ts"
import { accept, type Resolution, type RunState } from "./RunState.ts"
import type { AdapterEvent, ApprovalAnswer, Outcome } from "./RuntimeAdapter.ts"

/** Who answered, for the audit: a person, a policy, the clock. */
export interface DecidedBy {
  readonly by?: string | undefined
}

/** The requested and the edited input, as the log shows them. */
export interface InputEdit {
  readonly requestedInput: unknown
  readonly allowedInput: unknown
}

export type Input =
  | { readonly _tag: "Created"; readonly payload: PayloadOf<"run.created"> }
  | { readonly _tag: "Spawned" }
  | { readonly _tag: "Said"; readonly event: AdapterEvent }
  | {
      readonly _tag: "Asked"
      readonly approvalId: ApprovalId
      readonly request: ApprovalRequest
      readonly expiresAt: string
    }
  | { readonly _tag: "Withdrawn"; readonly approvalId: ApprovalId; readonly reason: string }
  | ({
      readonly _tag: "Decided"
      readonly approvalId: ApprovalId
      readonly answer: ApprovalAnswer
      readonly origin?: DecisionOrigin | undefined
      readonly edit?: InputEdit | undefined
    } & DecidedBy)
  | { readonly _tag: "Expired"; readonly approvalId: ApprovalId }
  /** The runtime told its outcome; the process still lives. */
  | { readonly _tag: "Concluded"; readonly outcome: Outcome; readonly reason?: string | undefined }
  /** What the run has used so far; the terminal event tells it where the outcome does not. */
  | { readonly _tag: "Used"; readonly usage: Usage }
  /** The Edge ends the run as failed, whatever the runtime says of it: a limit was reached, or its mode was broken. */
  | { readonly _tag: "Overruled"; readonly error: RunFailure }
  | ({ readonly _tag: "CancelRequested"; readonly reason?: string | undefined } & DecidedBy)
  | {
      readonly _tag: "TimedOut"
      readonly kind: PayloadOf<"runtime.timeout">["kind"]
      readonly afterMs: number
    }
  /** Nothing of the run is left alive. */
  | { readonly _tag: "Ended" }

export type Action =
  | { readonly _tag: "Append"; readonly event: EventDraft }
  /** Tell the runtime what was decided. */
  | { readonly _tag: "Answer"; readonly approvalId: ApprovalId; readonly answer: ApprovalAnswer }
  /** Close stdin and let the process leave by itself, for a while. */
  | { readonly _tag: "Leave" }
  /** End the process: protocol cancel, then signals. */
  | { readonly _tag: "Stop" }
  /** The command cannot be carried out. */
  | { readonly _tag: "Refuse"; readonly code: "approval_already_resolved" | "approval_expired" | "not_found" }

export type Transition = readonly [state: RunState, actions: ReadonlyArray<Action>]

const resolutionOf = (answer: ApprovalAnswer): Resolution => {
  switch (answer.decision) {
    case "allow":
      return "approved"
    case "deny":
      return "denied"
    case "cancel":
      return "cancelled"
  }
}

/** Collects actions while the state moves; refuses nothing silently except what `accept` refuses. */
class Step {
  state: RunState
  readonly actions: Array<Action> = []

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

  act(action: Action): void {
    this.actions.push(action)
  }

  /** Every approval that waits is resolved, and the runtime told so. */
  resolveAll(reason: string): void {
    for (const approvalId of this.state.pending) {
      this.append(draft("run.approval.resolved", { approvalId, state: "cancelled", reason }))
      this.act({ _tag: "Answer", approvalId, answer: { decision: "cancel", scope: "once", reason } })
    }
  }

  /** The runtime learns that an action was not approved. */
  reject(approvalId: ApprovalId, state: "denied" | "expired", reason?: string): void {
    this.state = { ...this.state, rejection: { approvalId, state, reason } }
  }

  /** The runtime does something else. */
  proceed(): void {
    if (this.state.rejection !== undefined) this.state = { ...this.state, rejection: undefined }
  }

  /** A runtime that speaks before it says that it has started has started. */
  ensureStarted(): void {
    if (!this.state.started) this.append(draft("run.started", {}))
  }

  conclude(outcome: Outcome, cancelledBy?: string): void {
    this.state = { ...this.state, verdict: outcome, cancelledBy }
  }

  done(): Transition {
    return [this.state, this.actions]
  }
}

const nothing: ReadonlyArray<Action> = []
const leave: ReadonlyArray<Action> = [{ _tag: "Leave" }]

/** The hot path: streamed text of a run that has started and not ended. `accept` says the same, with more to look at. */
const movesNothing = (state: RunState, event: EventDraft): boolean =>
  event.type === "run.message.delta" && state.started && state.rejection === undefined

/** What a run does about an input. Terminal states absorb every input but answer commands. */
export const transition = (state: RunState, input: Input): Transition => {
  if (state.status !== undefined && isTerminal(state.status)) {
    return input._tag === "Decided" || input._tag === "Expired"
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
    case "Said":
      if (movesNothing(state, input.event)) return [state, [{ _tag: "Append", event: input.event }]]
      if (input.event.type !== "run.started" && !input.event.type.startsWith("runtime.")) step.ensureStarted()
      if (step.append(input.event) && isContinuation(input.event)) step.proceed()
      return step.done()
    case "Asked":
      // A run that is already ending asks nobody.
      if (state.verdict !== undefined) {
        step.act({
          _tag: "Answer",
          approvalId: input.approvalId,
          answer: { decision: "cancel", scope: "once", reason: "the run is ending" }
        })
        return step.done()
      }
      step.ensureStarted()
      if (
        step.append(
          draft("run.approval.requested", {
            approvalId: input.approvalId,
            request: input.request,
            expiresAt: input.expiresAt
          })
        )
      )
        step.proceed()
      return step.done()
    case "Withdrawn":
      step.append(
        draft("run.approval.resolved", {
          approvalId: input.approvalId,
          state: "cancelled",
          reason: input.reason
        })
      )
      return step.done()
    case "Decided":
      return decide(step, input)
    case "Expired": {
      const reason = "nobody decided in time"
      if (
        step.append(
          draft("run.approval.resolved", { approvalId: input.approvalId, state: "expired", reason })
        )
      ) {
        step.reject(input.approvalId, "expired")
        step.act({
          _tag: "Answer",
          approvalId: input.approvalId,
          answer: { decision: "deny", scope: "once", reason }
        })
      }
      return step.done()
    }
    case "Concluded":
      // It is being stopped and has done what it was asked: now it may leave by itself.
      if (state.verdict !== undefined) return [state, leave]
      step.conclude(outcomeAfter(step.state.rejection, input.outcome))
      step.resolveAll(input.reason ?? "the runtime ended its turn")
      step.act({ _tag: "Leave" })
      return step.done()
    case "Used":
      return [{ ...state, used: input.usage }, nothing]
    case "Overruled":
      return overrule(step, input.error)
    case "CancelRequested":
      if (state.verdict === undefined) {
        step.conclude({ _tag: "Cancelled", reason: input.reason }, input.by)
        step.resolveAll("the run was cancelled")
      }
      step.act({ _tag: "Stop" })
      return step.done()
    case "TimedOut": {
      if (state.verdict === undefined) {
        step.append(draft("runtime.timeout", { kind: input.kind, afterMs: input.afterMs }))
        step.conclude({ _tag: "Failed", error: timeoutFailure(input.kind, input.afterMs) })
        step.resolveAll("the run timed out")
      }
      step.act({ _tag: "Stop" })
      return step.done()
    }
    case "Ended":
      return end(step)
  }
}

const decide = (step: Step, input: Extract<Input, { _tag: "Decided" }>): Transition => {
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
 * A decision on an approval that no longer waits: the same again is fine, another is a conflict. An edit that comes
 * second is always one: the first edit is stored without secrets and cannot be compared.
 */
const decideSettled = (
  state: RunState,
  input: Extract<Input, { _tag: "Decided" | "Expired" }>
): Transition => {
  if (input._tag === "Expired") return [state, nothing]
  const resolution = state.resolved.get(input.approvalId)
  if (resolution === undefined) return [state, [{ _tag: "Refuse", code: "not_found" }]]
  const isEdited = input.answer.updatedInput !== undefined || state.edited?.has(input.approvalId) === true
  if (resolution === resolutionOf(input.answer) && !isEdited) return [state, nothing]
  return [
    state,
    [{ _tag: "Refuse", code: resolution === "expired" ? "approval_expired" : "approval_already_resolved" }]
  ]
}

/** A run that somebody cancelled stays cancelled: that is what they were told. */
const overrule = (step: Step, error: RunFailure): Transition => {
  const { verdict } = step.state
  if (verdict?._tag === "Cancelled") return step.done()
  step.conclude({ _tag: "Failed", error, ...(verdict?.usage === undefined ? {} : { usage: verdict.usage }) })
  step.resolveAll("the run was ended")
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
  step.resolveAll("the run ended")
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
    first_event: "The runtime said nothing after it was started.",
    silence: "The runtime fell silent."
  }[kind]
  return { code: "run_timeout", message, details: { kind, afterMs } }
}
