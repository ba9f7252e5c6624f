/** One transition in progress: the state so far and the collected actions. */
import type { ResolvedInputState } from "../input/InputRequest.ts"
import type { ApprovalId, InputRequestId } from "../identity/Ids.ts"
import type { DecidedBy, Source, Transition, TransitionAction } from "./MachineInput.ts"
import { draft, type EventDraft, type PayloadOf } from "./RunEvent.ts"
import { accept, type RunState } from "./RunState.ts"
import type { Usage } from "./Run.ts"
import type { Outcome } from "./RuntimeAdapter.ts"
import type { WorkEnd } from "./Work.ts"

/** Payload of a pause or of its end. */
export const sourceOf = (by: string | undefined, reason: string | undefined): PayloadOf<"run.resumed"> => ({
  ...(reason === undefined ? {} : { reason }),
  ...(by === undefined ? {} : { by })
})

/** Drops events that `accept` refuses. */
export class TransitionStep {
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

  /**
   * Before the end of the run: cancels all pending approvals and questions, tells the runtime, ends outstanding work as `workEnd`, and ends a
   * pause.
   */
  settle(reason: string, workEnd: WorkEnd = "unfinished"): void {
    for (const approvalId of this.state.pending.keys()) {
      this.append(draft("run.approval.resolved", { approvalId, state: "cancelled", reason }))
      this.act({ _tag: "Answer", approvalId, answer: { decision: "cancel", scope: "once", reason } })
    }
    for (const inputId of this.state.pendingInputs.keys()) this.leaveUnanswered(inputId, "cancelled", reason)
    for (const workId of this.state.outstanding.keys())
      this.append(draft("run.work.ended", { workId, state: workEnd }))
    this.resume({ reason })
  }

  /** Resolves a question that no person answered. The runtime receives no choice. */
  leaveUnanswered(inputId: InputRequestId, state: ResolvedInputState, reason: string): void {
    if (!this.append(draft("run.input.resolved", { inputId, state }))) return
    this.act({ _tag: "Respond", inputId, response: { _tag: "Unanswered", reason } })
  }

  /** Holds the outcome of a turn, and ends the turn. */
  hold(outcome: Outcome): void {
    const { isIdle, outstanding, turn } = this.state
    this.state = { ...this.state, held: outcome }
    if (isIdle) return
    const { usage } = outcome
    const text = outcome._tag === "Completed" ? outcome.text : undefined
    const isEnded = this.append(
      draft("run.turn.ended", {
        turn,
        ...(text === undefined ? {} : { text }),
        ...(usage === undefined ? {} : { usage }),
        outstanding: outstanding.size
      })
    )
    if (isEnded && usage !== undefined) this.state = { ...this.state, used: usage }
  }

  /** Lets the held outcome count, if nothing is left that it waits for. */
  release(): void {
    const { held, verdict } = this.state
    if (held === undefined || verdict !== undefined || !canConclude(this.state)) return
    this.conclude(held)
    this.settle("the runtime ended its turn")
    this.act({ _tag: "Leave" })
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

/** The state after the runtime has reported what the run has used so far. What is decided about its end includes what it uses afterwards. */
export const withUsage = (state: RunState, usage: Usage): RunState => {
  const { held, verdict } = state
  return {
    ...state,
    used: usage,
    ...(held === undefined ? {} : { held: { ...held, usage } }),
    ...(verdict === undefined ? {} : { verdict: { ...verdict, usage } })
  }
}

/** Whether an outcome ends the run now. */
export const canConclude = ({ isTurnDue, outstanding, pendingInputs }: RunState): boolean =>
  outstanding.size === 0 && pendingInputs.size === 0 && isTurnDue !== true

/** Whether a held outcome waits only for a further turn of the runtime. The actor then posts `Settled` after a while. */
export const isSettling = (state: RunState): boolean =>
  state.held !== undefined &&
  state.verdict === undefined &&
  state.isTurnDue === true &&
  state.outstanding.size === 0 &&
  state.pendingInputs.size === 0 &&
  state.pending.size === 0
