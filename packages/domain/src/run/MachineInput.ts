/** Inputs of the run machine, and what a transition returns: events to append, and actions to take once they are durable. */
import type { ApprovalRequest, DecisionOrigin } from "../approval/Approval.ts"
import type { InputAnswer, RequestedInput } from "../input/InputRequest.ts"
import type { ApprovalId, InputRequestId } from "../identity/Ids.ts"
import type { RunFailure, Usage } from "./Run.ts"
import type { EventDraft, PayloadOf } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"
import type { AdapterEvent, AdapterOutput, ApprovalAnswer, InputResponse, Outcome } from "./RuntimeAdapter.ts"

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
export interface Source {
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
  | {
      readonly _tag: "InputRequested"
      readonly inputId: InputRequestId
      readonly request: RequestedInput
      readonly expiresAt?: string | undefined
    }
  | {
      readonly _tag: "InputWithdrawn"
      readonly inputId: InputRequestId
      readonly state: "withdrawn" | "self_answered"
    }
  /** A person's answer, valid for the request. `shown`: its answers and comment without secrets, for the log. */
  | ({
      readonly _tag: "InputAnswered"
      readonly inputId: InputRequestId
      readonly answer: InputAnswer
      readonly shown: Pick<PayloadOf<"run.input.resolved">, "answers" | "comment">
      readonly origin?: DecisionOrigin | undefined
      /** An approved plan ends a run that may not carry it out. */
      readonly endsRun: boolean
    } & DecidedBy)
  | { readonly _tag: "InputExpired"; readonly inputId: InputRequestId }
  | ({ readonly _tag: "WorkChanged" } & Omit<Extract<AdapterOutput, { readonly _tag: "Work" }>, "_tag">)
  /** The runtime has started a turn by itself, or a message was delivered to it while it was idle. `ended`: outcome of the turn before. */
  | {
      readonly _tag: "TurnStarted"
      readonly by: "message" | "program"
      readonly ended?: Outcome | undefined
    }
  /** No further turn came in time. The held outcome counts. */
  | { readonly _tag: "Settled" }
  /** A person ends the background work. */
  | ({ readonly _tag: "FinishRequested" } & DecidedBy)
  /** The runtime reported the outcome of a turn. The process is still running. */
  | { readonly _tag: "OutcomeReported"; readonly outcome: Outcome; readonly reason?: string | undefined }
  /** Usage so far. The terminal event contains it if the outcome has no usage. */
  | { readonly _tag: "UsageReported"; readonly usage: Usage }
  /** The Edge fails the run regardless of the runtime: a limit was reached, or its mode was violated. */
  | { readonly _tag: "FailureImposed"; readonly error: RunFailure; readonly reason?: string | undefined }
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
  /** Send the answer to a question to the runtime. */
  | { readonly _tag: "Respond"; readonly inputId: InputRequestId; readonly response: InputResponse }
  /** Let the frozen processes continue. */
  | { readonly _tag: "Thaw" }
  /** Close stdin and give the process time to exit. */
  | { readonly _tag: "Leave" }
  /** End the process: protocol cancel, then signals. */
  | { readonly _tag: "Stop" }
  /** Refuse the command. */
  | { readonly _tag: "Refuse"; readonly code: RefusalCode }

/** Why a command has no effect. `turn_active`: the run can be finished only while its runtime is idle. */
export type RefusalCode =
  | "approval_already_resolved"
  | "approval_expired"
  | "input_already_resolved"
  | "input_expired"
  | "turn_active"
  | "not_found"

export type Transition = readonly [state: RunState, actions: ReadonlyArray<TransitionAction>]

/** The input with that tag. */
export type MachineInputOf<Tag extends RunMachineInput["_tag"]> = Extract<
  RunMachineInput,
  { readonly _tag: Tag }
>
