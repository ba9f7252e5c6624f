/**
 * What a run has come to, and the transition table: the one place that knows which event may follow which.
 *
 * The Edge, the Hub and the console fold the same log with it. Terminal states absorb everything. What a run does about what happens to
 * it is `RunMachine`'s.
 */
import type { ApprovalId } from "../identity/Ids.ts"
import { isTerminal, type RunFailure, type RunStatus, type Usage } from "./Run.ts"
import type { EventDraft, PayloadOf } from "./RunEvent.ts"
import type { Rejection } from "./Rejection.ts"
import type { Outcome } from "./RuntimeAdapter.ts"

export interface RunState {
  /** `undefined` until `run.created`. */
  readonly status: RunStatus | undefined
  /** Approvals that wait, in the order they were asked. Non-empty exactly while `waiting_approval`. */
  readonly pending: ReadonlyArray<ApprovalId>
  readonly resolved: ReadonlyMap<ApprovalId, Resolution>
  /** Approvals that were allowed with another input than the requested one. */
  readonly edited?: ReadonlySet<ApprovalId> | undefined
  /** Tool calls without a result yet: call id → tool. */
  readonly openCalls: ReadonlyMap<string, string>
  readonly started: boolean
  /** How the run will end, once known; the terminal event waits for the process. */
  readonly verdict: Outcome | undefined
  /** The last denial or expiry, until the runtime continues. Known to the actor alone. */
  readonly rejection?: Rejection | undefined
  /** Who cancelled, where somebody did. */
  readonly cancelledBy?: string | undefined
  readonly runtimeSessionId?: string | undefined
  readonly model?: string | undefined
  /** As the terminal event told it. */
  readonly usage?: Usage | undefined
  /** So far, as the runtime tells while it works. */
  readonly used?: Usage | undefined
  readonly resultText?: string | undefined
  readonly error?: RunFailure | undefined
}

export type Resolution = PayloadOf<"run.approval.resolved">["state"]

export const initial: RunState = {
  status: undefined,
  pending: [],
  resolved: new Map(),
  openCalls: new Map(),
  started: false,
  verdict: undefined
}

/** Why an event may not come now. */
export type Refusal =
  | "not_created"
  | "already_created"
  | "already_started"
  | "already_terminal"
  | "unknown_approval"
  | "approval_already_asked"
  | "call_already_open"
  | "call_not_open"
  | "approvals_pending"
  | "calls_open"

export type Accepted = { readonly ok: true; readonly state: RunState }
export type Refused = { readonly ok: false; readonly refusal: Refusal }

const ok = (state: RunState): Accepted => ({ ok: true, state })
const no = (refusal: Refusal): Refused => ({ ok: false, refusal })

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const next = new Map(map)
  next.delete(key)
  return next
}

/** The transition table: the state after `event`, or why it may not come. */
export const accept = (state: RunState, event: EventDraft): Accepted | Refused => {
  if (state.status === undefined) {
    return event.type === "run.created" ? ok({ ...state, status: "created" }) : no("not_created")
  }
  if (isTerminal(state.status)) return no("already_terminal")
  switch (event.type) {
    case "run.created":
      return no("already_created")
    case "run.started":
      return state.started
        ? no("already_started")
        : ok({
            ...state,
            status: state.pending.length > 0 ? "waiting_approval" : "running",
            started: true,
            runtimeSessionId: event.payload.runtimeSessionId,
            model: event.payload.model
          })
    case "run.tool.call": {
      const { callId, tool } = event.payload
      if (state.openCalls.has(callId)) return no("call_already_open")
      return ok({ ...state, openCalls: new Map(state.openCalls).set(callId, tool) })
    }
    case "run.tool.result":
      return state.openCalls.has(event.payload.callId)
        ? ok({ ...state, openCalls: without(state.openCalls, event.payload.callId) })
        : no("call_not_open")
    case "run.approval.requested": {
      const { approvalId } = event.payload
      if (state.pending.includes(approvalId) || state.resolved.has(approvalId))
        return no("approval_already_asked")
      return ok({ ...state, status: "waiting_approval", pending: [...state.pending, approvalId] })
    }
    case "run.approval.resolved": {
      const { approvalId } = event.payload
      if (!state.pending.includes(approvalId)) return no("unknown_approval")
      const pending = state.pending.filter((id) => id !== approvalId)
      return ok({
        ...state,
        status: pending.length > 0 ? "waiting_approval" : state.started ? "running" : "starting",
        pending,
        resolved: new Map(state.resolved).set(approvalId, event.payload.state),
        ...(event.payload.edited === true ? { edited: new Set(state.edited).add(approvalId) } : {})
      })
    }
    case "run.completed":
    case "run.failed":
    case "run.cancelled": {
      if (state.pending.length > 0) return no("approvals_pending")
      if (state.openCalls.size > 0) return no("calls_open")
      const usage = event.payload.usage ?? state.usage
      switch (event.type) {
        case "run.completed":
          return ok({ ...state, status: "completed", usage, resultText: event.payload.text })
        case "run.failed":
          return ok({ ...state, status: "failed", usage, error: event.payload.error })
        case "run.cancelled":
          return ok({ ...state, status: "cancelled", usage })
      }
    }
    // A message, a file, a diff: anything that does not move the run. The state is shared, not copied: this is the hot path.
    default:
      return ok(state)
  }
}

/** The fold of readers: events that cannot follow leave the state as it is. */
export const fold = (state: RunState, event: EventDraft): RunState => {
  const next = accept(state, event)
  return next.ok ? next.state : state
}
