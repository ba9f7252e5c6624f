/**
 * State of a run, folded from its events, and the transition table: the one place that says which event may follow which.
 *
 * The Edge writes its log through the table, the Hub checks each mirrored log with it. Terminal states absorb everything. `RunMachine` says
 * what a run does about an input. `RunView` adds the display.
 */
import type { ApprovalId, InputRequestId, RunId } from "../identity/Ids.ts"
import type { RequestedInput, ResolvedInputState } from "../input/InputRequest.ts"
import type { RunConfinement } from "./Confinement.ts"
import { addProtectedChanges, type ProtectedChanges } from "./ProtectedChange.ts"
import type { Rejection } from "./Rejection.ts"
import type { Outstanding, RunFailure, RunStatus, Usage } from "./Run.ts"
import { isTerminal, type LiveStatus, type TerminalType } from "./RunEnd.ts"
import type { RunLayer } from "./Run.ts"
import type { DraftOf, EventDraft, PayloadOf } from "./RunEvent.ts"
import type { Outcome } from "./RuntimeAdapter.ts"
import type { UnknownChanges } from "../changes/UnknownChanges.ts"
import { VersionedMap } from "./VersionedMap.ts"
import { MAX_OUTSTANDING, type WorkInProgress } from "./Work.ts"

/** Largest number of tool calls that are open at a time. A run with more fails, because a runtime that closes no call would fill the memory. */
export const MAX_OPEN_CALLS = 10_000

/** State of one run. An event costs the same however much is open: the next state shares the rest. */
export interface RunState {
  /** `undefined` until `run.created`. */
  readonly status: RunStatus | undefined
  /** Pending approvals, in the order of the requests. Not empty exactly while `waiting_approval`. */
  readonly pending: VersionedMap<ApprovalId, true>
  readonly resolved: VersionedMap<ApprovalId, ApprovalEnd>
  /** Questions that wait for a person, in the order of the requests. */
  readonly pendingInputs: VersionedMap<InputRequestId, RequestedInput>
  readonly resolvedInputs: VersionedMap<InputRequestId, ResolvedInputState>
  /** Work in the background, by its id. */
  readonly outstanding: VersionedMap<string, WorkInProgress>
  /** Number of outstanding works that are commands. */
  readonly commands: number
  /** Number of the current or last turn, from 1. */
  readonly turn: number
  /** Whether the runtime has ended its turn and the run continues. */
  readonly isIdle: boolean
  /** Tool calls without a result: call id → tool. */
  readonly openCalls: VersionedMap<string, string>
  readonly started: boolean
  /** Whether the processes of the run are frozen. A run that is ending is not. */
  readonly paused?: true | undefined
  /** How the run will end, once known. The terminal event waits for the end of the process. */
  readonly verdict: Outcome | undefined
  /** The newest outcome, while work is outstanding or a further turn may follow. Not in the log. */
  readonly held?: Outcome | undefined
  /** Whether the runtime starts a turn by itself, because work ended. Not in the log. */
  readonly isTurnDue?: true | undefined
  /** The last denial or expiry, until the runtime continues. Not in the log: only the run's actor knows it. */
  readonly rejection?: Rejection | undefined
  /** The user who cancelled the run, if a user did. */
  readonly cancelledBy?: string | undefined
  readonly runtimeSessionId?: string | undefined
  readonly model?: string | undefined
  /** The run whose worktree the run works in. */
  readonly worktree?: RunId | undefined
  readonly layer?: RunLayer | undefined
  readonly confinement?: RunConfinement | undefined
  /** Whether the run ends with its Edge although runs outlive it. */
  readonly endsWithEdge?: true | undefined
  readonly protectedChanges?: ProtectedChanges | undefined
  readonly changesUnknown?: UnknownChanges | undefined
  /** From the terminal event, before it from the last report in the log. */
  readonly usage?: Usage | undefined
  /** So far, as the runtime reports while it runs. */
  readonly used?: Usage | undefined
  readonly resultText?: string | undefined
  readonly error?: RunFailure | undefined
}

export type ResolutionState = PayloadOf<"run.approval.resolved">["state"]

/** How an approval was resolved. */
export interface ApprovalEnd {
  readonly state: ResolutionState
  /** Whether it was allowed with an edited input. */
  readonly isEdited: boolean
}

/** Facts about a run that a store keeps next to its state. */
export interface RunSummary {
  readonly runtimeSessionId?: string
  readonly model?: string
  readonly usage?: Usage
  readonly resultText?: string
  readonly error?: RunFailure
  readonly worktree?: RunId
  readonly layer?: RunLayer
  readonly confinement?: RunConfinement
  readonly endsWithEdge?: true
  readonly protectedChanges?: ProtectedChanges
  readonly changesUnknown?: UnknownChanges
  readonly paused?: true
}

/** Titles of work that a run shows. Others are only counted. */
const SHOWN_TITLES = 20

/** The part of a run's state that changes with its questions, turns and work. Readers need the questions' ids only. */
export type LiveState = Pick<RunState, "status" | "started" | "isIdle" | "outstanding" | "commands"> & {
  readonly pendingInputs: Pick<RunState["pendingInputs"], "keys">
}
interface LiveFields {
  readonly pendingInputs: ReadonlyArray<InputRequestId>
  readonly turn?: "active" | "idle"
  readonly outstanding?: Outstanding
}

/** Questions, turn and work of a live run, as its readers see them. */
export const liveFieldsOf = (state: LiveState): LiveFields => {
  const { commands, isIdle, outstanding, pendingInputs, started, status } = state
  if (status === undefined || isTerminal(status)) return { pendingInputs: [] }
  const count = outstanding.size
  return {
    pendingInputs: pendingInputs.keys(),
    ...(started ? { turn: isIdle ? "idle" : "active" } : {}),
    ...(count === 0
      ? {}
      : {
          outstanding: {
            count,
            titles: outstanding.first(SHOWN_TITLES).map(({ title }) => title),
            ...(commands === count ? { onlyCommands: true } : {})
          }
        })
  }
}

export const runSummaryOf = (state: RunState): RunSummary => {
  const {
    changesUnknown,
    confinement,
    endsWithEdge,
    error,
    layer,
    model,
    paused,
    protectedChanges,
    resultText,
    runtimeSessionId,
    usage,
    worktree
  } = state
  return {
    ...(runtimeSessionId === undefined ? {} : { runtimeSessionId }),
    ...(model === undefined ? {} : { model }),
    ...(usage === undefined ? {} : { usage }),
    ...(resultText === undefined ? {} : { resultText }),
    ...(error === undefined ? {} : { error }),
    ...(worktree === undefined ? {} : { worktree }),
    ...(layer === undefined ? {} : { layer }),
    ...(confinement === undefined ? {} : { confinement }),
    ...(endsWithEdge === undefined ? {} : { endsWithEdge }),
    ...(protectedChanges === undefined ? {} : { protectedChanges }),
    ...(changesUnknown === undefined ? {} : { changesUnknown }),
    ...(paused === undefined ? {} : { paused })
  }
}

export const initial: RunState = {
  status: undefined,
  pending: VersionedMap.empty(),
  resolved: VersionedMap.empty(),
  pendingInputs: VersionedMap.empty(),
  resolvedInputs: VersionedMap.empty(),
  outstanding: VersionedMap.empty(),
  commands: 0,
  turn: 1,
  isIdle: false,
  openCalls: VersionedMap.empty(),
  started: false,
  verdict: undefined
}

/** Why an event cannot follow. */
export type Refusal =
  | "not_created"
  | "already_created"
  | "already_started"
  | "already_terminal"
  | "unknown_approval"
  | "approval_already_asked"
  | "call_already_open"
  | "too_many_calls"
  | "call_not_open"
  | "already_paused"
  | "not_paused"
  | "approvals_pending"
  | "calls_open"
  | "still_paused"
  | "unknown_input"
  | "input_already_asked"
  | "inputs_pending"
  | "work_already_started"
  | "too_much_work"
  | "work_not_started"
  | "work_outstanding"
  | "turn_active"
  | "turn_idle"

export type Accepted = { readonly ok: true; readonly state: RunState }
export type Refused = { readonly ok: false; readonly refusal: Refusal }

const accepted = (state: RunState): Accepted => ({ ok: true, state })
const refused = (refusal: Refusal): Refused => ({ ok: false, refusal })

/** State of a live run: an approval shows before a question. */
const liveStatus = ({
  pending,
  pendingInputs,
  started
}: Pick<RunState, "pending" | "pendingInputs" | "started">): LiveStatus =>
  pending.size > 0
    ? "waiting_approval"
    : pendingInputs.size > 0
      ? "waiting_input"
      : started
        ? "running"
        : "starting"

const withStatus = (state: RunState): Accepted => accepted({ ...state, status: liveStatus(state) })

const requestApproval = (
  state: RunState,
  { approvalId }: PayloadOf<"run.approval.requested">
): Accepted | Refused =>
  state.pending.has(approvalId) || state.resolved.has(approvalId)
    ? refused("approval_already_asked")
    : withStatus({ ...state, pending: state.pending.set(approvalId, true) })

const resolveApproval = (
  state: RunState,
  { approvalId, edited, state: resolution }: PayloadOf<"run.approval.resolved">
): Accepted | Refused =>
  state.pending.has(approvalId)
    ? withStatus({
        ...state,
        pending: state.pending.delete(approvalId),
        resolved: state.resolved.set(approvalId, { state: resolution, isEdited: edited === true })
      })
    : refused("unknown_approval")

const requestInput = (
  state: RunState,
  { inputId, request }: PayloadOf<"run.input.requested">
): Accepted | Refused =>
  state.pendingInputs.has(inputId) || state.resolvedInputs.has(inputId)
    ? refused("input_already_asked")
    : withStatus({ ...state, pendingInputs: state.pendingInputs.set(inputId, request) })

const resolveInput = (
  state: RunState,
  { inputId, state: resolution }: PayloadOf<"run.input.resolved">
): Accepted | Refused =>
  state.pendingInputs.has(inputId)
    ? withStatus({
        ...state,
        pendingInputs: state.pendingInputs.delete(inputId),
        resolvedInputs: state.resolvedInputs.set(inputId, resolution)
      })
    : refused("unknown_input")

const startWork = (
  state: RunState,
  { kind, title, workId }: PayloadOf<"run.work.started">
): Accepted | Refused => {
  if (state.outstanding.has(workId)) return refused("work_already_started")
  if (state.outstanding.size >= MAX_OUTSTANDING) return refused("too_much_work")
  return accepted({
    ...state,
    outstanding: state.outstanding.set(workId, { kind, title }),
    commands: state.commands + (kind === "command" ? 1 : 0)
  })
}

const endWork = (state: RunState, { workId }: PayloadOf<"run.work.ended">): Accepted | Refused => {
  const work = state.outstanding.get(workId)
  if (work === undefined) return refused("work_not_started")
  return accepted({
    ...state,
    outstanding: state.outstanding.delete(workId),
    commands: state.commands - (work.kind === "command" ? 1 : 0)
  })
}

const openCall = (state: RunState, { callId, tool }: PayloadOf<"run.tool.call">): Accepted | Refused => {
  if (state.openCalls.has(callId)) return refused("call_already_open")
  if (state.openCalls.size >= MAX_OPEN_CALLS) return refused("too_many_calls")
  return accepted({ ...state, openCalls: state.openCalls.set(callId, tool) })
}

const end = (state: RunState, event: DraftOf<TerminalType>): Accepted | Refused => {
  if (state.pending.size > 0) return refused("approvals_pending")
  if (state.pendingInputs.size > 0) return refused("inputs_pending")
  if (state.outstanding.size > 0) return refused("work_outstanding")
  if (state.openCalls.size > 0) return refused("calls_open")
  if (state.paused === true) return refused("still_paused")
  const usage = event.payload.usage ?? state.usage
  switch (event.type) {
    case "run.completed":
      return accepted({ ...state, status: "completed", usage, resultText: event.payload.text })
    case "run.failed":
      return accepted({ ...state, status: "failed", usage, error: event.payload.error })
    case "run.cancelled":
      return accepted({ ...state, status: "cancelled", usage })
  }
}

const create = (
  state: RunState,
  { confinement, endsWithEdge, layer, worktree }: PayloadOf<"run.created">
): Accepted =>
  accepted({
    ...state,
    status: "created",
    ...(worktree === undefined ? {} : { worktree: worktree.runId }),
    ...(layer === undefined ? {} : { layer }),
    ...(confinement === undefined ? {} : { confinement }),
    ...(endsWithEdge === undefined ? {} : { endsWithEdge })
  })

const start = (state: RunState, { model, runtimeSessionId }: PayloadOf<"run.started">): Accepted | Refused =>
  state.started
    ? refused("already_started")
    : withStatus({ ...state, started: true, runtimeSessionId, model })

const unknownChangesOf = ({ detail, reason }: UnknownChanges): UnknownChanges => ({
  reason,
  ...(detail === undefined ? {} : { detail })
})

/** The transition table: the state after `event`, or why the event cannot follow. Has a case for every event type. */
export const accept = (state: RunState, event: EventDraft): Accepted | Refused => {
  if (state.status === undefined)
    return event.type === "run.created" ? create(state, event.payload) : refused("not_created")
  if (isTerminal(state.status)) return refused("already_terminal")
  switch (event.type) {
    case "run.created":
      return refused("already_created")
    case "run.started":
      return start(state, event.payload)
    case "run.tool.call":
      return openCall(state, event.payload)
    case "run.tool.result":
      return state.openCalls.has(event.payload.callId)
        ? accepted({ ...state, openCalls: state.openCalls.delete(event.payload.callId) })
        : refused("call_not_open")
    case "run.approval.requested":
      return requestApproval(state, event.payload)
    case "run.approval.resolved":
      return resolveApproval(state, event.payload)
    case "run.input.requested":
      return requestInput(state, event.payload)
    case "run.input.resolved":
      return resolveInput(state, event.payload)
    case "run.work.started":
      return startWork(state, event.payload)
    case "run.work.ended":
      return endWork(state, event.payload)
    case "run.turn.started":
      return state.isIdle
        ? accepted({ ...state, isIdle: false, turn: event.payload.turn })
        : refused("turn_active")
    case "run.turn.ended":
      return state.isIdle
        ? refused("turn_idle")
        : accepted({ ...state, isIdle: true, usage: event.payload.usage ?? state.usage })
    case "run.paused":
      return state.paused === true ? refused("already_paused") : accepted({ ...state, paused: true })
    case "run.resumed":
      return state.paused === true ? accepted({ ...state, paused: undefined }) : refused("not_paused")
    case "run.protected.changed":
      return accepted({
        ...state,
        protectedChanges: addProtectedChanges(state.protectedChanges, event.payload)
      })
    case "run.usage.updated":
      return accepted({ ...state, usage: event.payload.usage })
    case "run.changes.unknown":
      return accepted({ ...state, changesUnknown: unknownChangesOf(event.payload) })
    case "run.completed":
    case "run.failed":
    case "run.cancelled":
      return end(state, event)
    // Events that do not move the run. The state is shared, not copied: this is the hot path.
    case "run.message.delta":
    case "run.message.completed":
    case "run.file.read":
    case "run.file.changed":
    case "run.diff.ready":
    case "run.repository.changed":
    case "run.patch.proposed":
    case "run.artifact.ready":
    case "run.preview.ready":
    case "run.steps.updated":
    case "run.notice":
    case "runtime.unavailable":
    case "runtime.retrying":
    case "runtime.timeout":
    case "schema.validation_failed":
    case "integration.message.received":
    case "integration.card.action":
    case "identity.binding.required":
      return accepted(state)
  }
}

/** The fold of readers: an event that cannot follow does not change the state. */
export const fold = (state: RunState, event: EventDraft): RunState => {
  const next = accept(state, event)
  return next.ok ? next.state : state
}
