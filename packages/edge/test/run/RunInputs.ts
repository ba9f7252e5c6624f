/**
 * Inputs of a run that is under way, from few approvals and calls so that they meet. `Ended` is not among them: a test that wants the
 * run to end says so.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { RunMachineInput } from "@corral/domain/run/RunMachine"
import { Arbitrary, Schema } from "effect"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { later, request } from "../Samples.ts"

const which = Schema.Literals([0, 1, 2])

const Step = Schema.Union([
  Schema.TaggedStruct("Spawned", {}),
  Schema.TaggedStruct("Started", {}),
  Schema.TaggedStruct("EventEmitted", { text: Schema.String }),
  Schema.TaggedStruct("Called", { which }),
  Schema.TaggedStruct("Returned", { which }),
  Schema.TaggedStruct("ApprovalRequested", { which }),
  Schema.TaggedStruct("ApprovalDecided", { which, decision: Schema.Literals(["allow", "deny"]) }),
  Schema.TaggedStruct("ApprovalWithdrawn", { which }),
  Schema.TaggedStruct("ApprovalExpired", { which }),
  Schema.TaggedStruct("OutcomeReported", {}),
  Schema.TaggedStruct("CancelRequested", {})
])

const inputOf = (step: typeof Step.Type, ids: ReadonlyArray<ApprovalId>): ReadonlyArray<RunMachineInput> => {
  const approvalId = "which" in step ? ids[step.which] : ids[0]
  if (approvalId === undefined) return []
  switch (step._tag) {
    case "Spawned":
      return [step]
    case "Started":
      return [{ _tag: "EventEmitted", event: draft("run.started", { runtimeSessionId: "s", model: "m" }) }]
    case "EventEmitted":
      return [
        {
          _tag: "EventEmitted",
          event: draft("run.message.delta", { messageId: "m", channel: "text", text: step.text })
        }
      ]
    case "Called": {
      const call = { callId: `c${step.which}`, tool: "Bash", label: "Run", status: "started" } as const
      return [{ _tag: "EventEmitted", event: draft("run.tool.call", call) }]
    }
    case "Returned": {
      const result = { callId: `c${step.which}`, tool: "Bash", status: "completed" } as const
      return [{ _tag: "EventEmitted", event: draft("run.tool.result", result) }]
    }
    case "ApprovalRequested":
      return [{ _tag: "ApprovalRequested", approvalId, request: request(), expiresAt: later }]
    case "ApprovalDecided":
      return [
        { _tag: "ApprovalDecided", approvalId, answer: { decision: step.decision, scope: "once" }, by: "one" }
      ]
    case "ApprovalWithdrawn":
      return [{ _tag: "ApprovalWithdrawn", approvalId, reason: "it went on" }]
    case "ApprovalExpired":
      return [{ _tag: "ApprovalExpired", approvalId }]
    case "OutcomeReported":
      return [{ _tag: "OutcomeReported", outcome: { _tag: "Completed", text: "Done.", usage: { turns: 1 } } }]
    case "CancelRequested":
      return [{ _tag: "CancelRequested", reason: "enough", by: "one" }]
  }
}

/** Batches of inputs; every run has its own approval ids. */
export const anyTurns: Arbitrary.Arbitrary<ReadonlyArray<ReadonlyArray<RunMachineInput>>> = Arbitrary.map(
  Arbitrary.array(Arbitrary.array(Arbitrary.schema(Step), { maxLength: 5 }), { maxLength: 12 }),
  (turns) => {
    const ids = [0, 1, 2].map(() => mint<ApprovalId>("apr", 1_000))
    return turns.map((steps) => steps.flatMap((step) => inputOf(step, ids)))
  }
)
