/**
 * Arbitrary inputs of a run, from few approvals, calls and messages, so that they meet: a call opened twice, a decision on an approval
 * that was withdrawn, output after a cancel.
 */
import { Arbitrary, Schema } from "effect"
import {
  ActionClass,
  Decision,
  DecisionOrigin,
  DecisionScope,
  type ApprovalRequest
} from "@corral/domain/approval/Approval"
import {
  encodeUlid,
  type ApprovalId,
  type InputRequestId,
  type WorkspaceId
} from "@corral/domain/identity/Ids"
import type { InputAnswer, RequestedInput } from "@corral/domain/input/InputRequest"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import type { AdapterEvent, Outcome } from "@corral/domain/run/RuntimeAdapter"

export const approvalIds: ReadonlyArray<ApprovalId> = [1, 2, 3].map(
  (n) => `apr_${encodeUlid(n, new Uint8Array(10))}` as ApprovalId
)

export const inputIds: ReadonlyArray<InputRequestId> = [1, 2].map(
  (n) => `inq_${encodeUlid(n, new Uint8Array(10))}` as InputRequestId
)

/** A question with two options. */
export const question = (more: Partial<RequestedInput> = {}): RequestedInput => ({
  kind: "question",
  title: "Which colour?",
  questions: [
    {
      id: "colour",
      text: "Which colour?",
      kind: "choice",
      options: [
        { id: "red", label: "Red" },
        { id: "blue", label: "Blue" }
      ]
    }
  ],
  ...more
})

const plan: RequestedInput = { kind: "plan", title: "A plan", plan: "1. Do it" }

const answers: ReadonlyArray<InputAnswer> = [
  { answers: { colour: "blue" } },
  { decline: true },
  { approve: true },
  { approve: false, comment: "Not yet." }
]

export const created: PayloadOf<"run.created"> = {
  workspace: "api" as WorkspaceId,
  mode: "ask",
  input: { text: "Look around." }
}

export const request = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  action: "write",
  risk: "low",
  title: "Write notes.txt",
  editable: false,
  scopes: ["once"],
  ...more
})

/** A requested input and the allowed input. */
export const edit = {
  requestedInput: { command: "rm -rf build" },
  allowedInput: { command: "echo harmless" }
}

const callIds = Schema.Literals(["call-1", "call-2"])
const approvals = Schema.Literals(approvalIds)
const inputs = Schema.Literals(inputIds)
const workIds = Schema.Literals(["work-1", "work-2"])

/** Cases of `EventEmitted`, distinguished by a number so that they shrink together with what surrounds them. */
const emittedEvent = (what: number, callId: string): AdapterEvent => {
  switch (what) {
    case 0:
      return draft("run.started", { runtimeSessionId: `session-${callId}`, model: "m" })
    case 1:
    case 2:
      return draft("run.tool.call", { callId, tool: `tool of ${callId}`, label: "Read", status: "started" })
    case 3:
      return draft("run.tool.result", { callId, tool: `tool of ${callId}`, status: "completed" })
    case 4:
      return draft("run.message.delta", { messageId: callId, channel: "text", text: "Hello" })
    case 5:
      return draft("run.file.changed", { path: "notes.txt", change: "created", callId })
    case 6:
      return draft("schema.validation_failed", { message: "not JSON", bytes: 3 })
    default:
      return draft("runtime.unavailable", { reason: "command_missing", message: "It is not there." })
  }
}

const outcomes: ReadonlyArray<Outcome> = [
  { _tag: "Completed", text: "Done.", usage: { inputTokens: 3, outputTokens: 5 } },
  { _tag: "Failed", error: { code: "internal", message: "It broke." }, usage: { turns: 1 } },
  { _tag: "Cancelled", reason: "by itself" },
  { _tag: "Completed" }
]

const Step = Schema.Union([
  Schema.TaggedStruct("Spawned", {}),
  Schema.TaggedStruct("EventEmitted", { what: Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7]), callId: callIds }),
  Schema.TaggedStruct("ApprovalRequested", { approvalId: approvals, action: ActionClass }),
  Schema.TaggedStruct("ApprovalWithdrawn", { approvalId: approvals }),
  Schema.TaggedStruct("ApprovalDecided", {
    approvalId: approvals,
    decision: Decision,
    scope: DecisionScope,
    origin: DecisionOrigin,
    edited: Schema.Boolean
  }),
  Schema.TaggedStruct("ApprovalExpired", { approvalId: approvals }),
  Schema.TaggedStruct("InputRequested", {
    inputId: inputs,
    what: Schema.Literals(["question", "plan", "next turn"])
  }),
  Schema.TaggedStruct("InputWithdrawn", {
    inputId: inputs,
    state: Schema.Literals(["withdrawn", "self_answered"])
  }),
  Schema.TaggedStruct("InputAnswered", {
    inputId: inputs,
    answer: Schema.Literals([0, 1, 2, 3]),
    endsRun: Schema.Boolean
  }),
  Schema.TaggedStruct("InputExpired", { inputId: inputs }),
  Schema.TaggedStruct("WorkChanged", {
    id: workIds,
    state: Schema.Literals(["running", "running", "completed", "failed", "stopped"]),
    continues: Schema.Boolean
  }),
  Schema.TaggedStruct("TurnStarted", { by: Schema.Literals(["message", "program"]) }),
  Schema.TaggedStruct("Settled", {}),
  Schema.TaggedStruct("FinishRequested", {}),
  Schema.TaggedStruct("OutcomeReported", { outcome: Schema.Literals([0, 1, 2, 3]) }),
  Schema.TaggedStruct("UsageReported", { turns: Schema.Literals([1, 2]) }),
  Schema.TaggedStruct("FailureImposed", { code: Schema.Literals(["permission_denied", "run_timeout"]) }),
  Schema.TaggedStruct("CancelRequested", {}),
  Schema.TaggedStruct("Frozen", {}),
  Schema.TaggedStruct("ResumeRequested", {}),
  Schema.TaggedStruct("TimedOut", {
    kind: Schema.Literals(["run", "first_event", "silence", "cap", "background"])
  }),
  Schema.TaggedStruct("Ended", {})
])

const requestedInput = (what: "question" | "plan" | "next turn"): RequestedInput => {
  switch (what) {
    case "question":
      return question()
    case "plan":
      return plan
    case "next turn":
      return question({ startsTurn: true })
  }
}

const inputOf = (step: typeof Step.Type): RunMachineInput => {
  switch (step._tag) {
    case "EventEmitted":
      return { _tag: "EventEmitted", event: emittedEvent(step.what, step.callId) }
    case "ApprovalRequested":
      return {
        _tag: "ApprovalRequested",
        approvalId: step.approvalId,
        request: request({ action: step.action }),
        expiresAt: "2026-01-01T00:30:00.000Z"
      }
    case "ApprovalWithdrawn":
      return { ...step, reason: "the runtime went on" }
    case "ApprovalDecided":
      return {
        _tag: "ApprovalDecided",
        approvalId: step.approvalId,
        answer: { decision: step.decision, scope: step.scope },
        by: "a person",
        origin: step.origin,
        ...(step.edited && step.decision === "allow" ? { edit } : {})
      }
    case "InputRequested":
      return { _tag: "InputRequested", inputId: step.inputId, request: requestedInput(step.what) }
    case "InputAnswered":
      return {
        _tag: "InputAnswered",
        inputId: step.inputId,
        answer: answers[step.answer] ?? { decline: true },
        shown: {},
        by: "a person",
        endsRun: step.endsRun
      }
    case "WorkChanged":
      return { ...step, kind: "agent", title: `Work ${step.id}` }
    case "FinishRequested":
      return { _tag: "FinishRequested", by: "a person" }
    case "OutcomeReported":
      return { _tag: "OutcomeReported", outcome: outcomes[step.outcome] ?? { _tag: "Completed" } }
    case "UsageReported":
      return { _tag: "UsageReported", usage: { turns: step.turns } }
    case "FailureImposed":
      return { _tag: "FailureImposed", error: { code: step.code, message: "It went too far." } }
    case "CancelRequested":
      return { _tag: "CancelRequested", reason: "enough", by: "a person" }
    case "Frozen":
    case "ResumeRequested":
      return { ...step, by: "a person" }
    case "TimedOut":
      return { ...step, afterMs: 1_000 }
    case "Spawned":
    case "ApprovalExpired":
    case "InputWithdrawn":
    case "InputExpired":
    case "TurnStarted":
    case "Settled":
    case "Ended":
      return step
  }
}

/** Any input. `Ended` is as likely as the others, so most sequences continue after it. */
export const anyInput: Arbitrary.Arbitrary<RunMachineInput> = Arbitrary.map(Arbitrary.schema(Step), inputOf)

/** Any inputs except `Ended`: a run in progress. */
export const underWay: Arbitrary.Arbitrary<ReadonlyArray<RunMachineInput>> = Arbitrary.map(
  Arbitrary.array(anyInput, { maxLength: 40 }),
  (inputs) => inputs.filter((input) => input._tag !== "Ended")
)

const ending: ReadonlySet<RunMachineInput["_tag"]> = new Set([
  "Ended",
  "CancelRequested",
  "FailureImposed",
  "TimedOut",
  "FinishRequested",
  "ApprovalDecided"
])

/** Inputs of a run with turns, work and questions, which only its outcomes end. It has started and works. */
export const atWork: Arbitrary.Arbitrary<ReadonlyArray<RunMachineInput>> = Arbitrary.map(
  Arbitrary.array(anyInput, { maxLength: 60 }),
  (inputs) => [
    { _tag: "Spawned" },
    { _tag: "WorkChanged", id: "work-0", kind: "agent", title: "Work", state: "running" },
    ...inputs.filter(
      (input) =>
        !ending.has(input._tag) &&
        !(input._tag === "OutcomeReported" && input.outcome._tag === "Cancelled") &&
        !(input._tag === "InputAnswered" && input.endsRun)
    )
  ]
)
