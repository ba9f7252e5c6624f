/** Outputs of an adapter, applied to their run one by one. */
import type { AdapterEvent, AdapterOutput, Outcome } from "@corral/domain/run/RuntimeAdapter"
import { draft } from "@corral/domain/run/RunEvent"
import { withRefusal } from "../confinement/KernelRefusals.ts"
import { explainedFailure } from "../confinement/StartHints.ts"
import { requestApproval } from "./ApprovalRequests.ts"
import type { BatchState } from "./BatchState.ts"
import { budgetNoticeId, type BudgetNotice } from "./Budget.ts"
import { withPathsIn } from "./FilePaths.ts"
import { admitQuestion, withdrawQuestion } from "./InputRequests.ts"

/** Applies outputs from `from` on. From the first request to people that exceeds the batch, the outputs wait in the backlog. */
export const dispatch = (batch: BatchState, outputs: ReadonlyArray<AdapterOutput>, from = 0): void => {
  for (let at = from; at < outputs.length; at++) {
    const output = outputs[at]
    if (output === undefined) return
    if (isRequest(output)) {
      if (!batch.canRequestApproval) return batch.context.backlog.hold(outputs, at)
      if (!isApplied(batch)) makeRequest(batch, output)
    } else if (isApplied(batch)) {
      restore(batch, output)
    } else {
      dispatchOne(batch, output)
    }
    batch.context.position.outputs++
  }
}

type RequestOutput = Extract<AdapterOutput, { readonly _tag: "Approval" | "InputRequested" }>

const isRequest = (output: AdapterOutput): output is RequestOutput =>
  output._tag === "Approval" || output._tag === "InputRequested"

const makeRequest = (batch: BatchState, output: RequestOutput): void =>
  output._tag === "Approval"
    ? requestApproval(batch, { _tag: "Runtime", key: output.key }, output.request)
    : admitQuestion(batch, output)

/** Whether an earlier Edge has applied the output. */
const isApplied = ({ context: { appliedBefore, position } }: BatchState): boolean =>
  position.outputs < appliedBefore

/** What an applied output left, that is in no log. */
const restore = ({ context: { budget, reported }, writes }: BatchState, output: AdapterOutput): void => {
  if (output._tag === "Reply") writes.push(output.text)
  else if (output._tag === "Usage") budget.charge(output.usage)
  else if (output._tag === "Event" && output.event.type === "run.diff.ready") reported.diff = output.event
}

const dispatchOne = (batch: BatchState, output: Exclude<AdapterOutput, RequestOutput>): void => {
  const { budget, isFirstVersion, onUnknown, recorder, redaction, root } = batch.context
  switch (output._tag) {
    case "Event":
      return applyEvent(batch, withHints(batch, withPathsIn(root, output.event)))
    case "ApprovalWithdrawn":
      return withdrawApproval(batch, output.key, output.reason)
    case "Artifact":
      return recorder.addArtifact(
        redaction.value(output.name),
        redaction.value(output.mediaType),
        output.content,
        output.callId
      )
    case "InputWithdrawn":
      return withdrawQuestion(batch, output)
    case "Work":
      return isFirstVersion ? undefined : batch.apply({ ...output, _tag: "WorkChanged" })
    case "TurnStarted":
      return isFirstVersion ? undefined : startTurn(batch, output)
    case "Reply":
      return void batch.writes.push(output.text)
    case "Usage":
      batch.apply({ _tag: "UsageReported", usage: output.usage })
      return chargeBudget(batch, budget.charge(output.usage))
    case "Outcome":
      return batch.apply({ _tag: "OutcomeReported", outcome: explained(batch, output.outcome) })
    case "Unknown":
      return onUnknown(redaction.value(output.what), redaction.value(output.raw))
  }
}

const isConfined = ({ context: { recorder } }: BatchState): boolean =>
  (recorder.run.confinement?.kind ?? "none") !== "none"

const withHints = (batch: BatchState, event: AdapterEvent): AdapterEvent =>
  isConfined(batch) ? withRefusal(event) : event

/** A failure of a program that has ended, with what it printed last. */
const explained = (batch: BatchState, outcome: Outcome): Outcome => {
  const { end } = batch.context.reported
  return end === undefined || outcome._tag !== "Failed"
    ? outcome
    : { ...outcome, error: explainedFailure(outcome.error, end, isConfined(batch)) }
}

const startTurn = (
  batch: BatchState,
  { by, ended }: Extract<AdapterOutput, { readonly _tag: "TurnStarted" }>
): void => batch.apply({ _tag: "TurnStarted", by: by ?? "program", ended })

/** The changes of a run are reported once, at its end: the Edge's own measurement replaces what the runtime reported. */
const applyEvent = (batch: BatchState, event: AdapterEvent): void => {
  if (event.type === "run.tool.result") batch.hasToolResult = true
  if (event.type === "run.diff.ready") batch.context.reported.diff = event
  else batch.apply({ _tag: "EventEmitted", event })
}

const withdrawApproval = (batch: BatchState, key: string, reason: string): void => {
  const { approvals } = batch.context
  const approvalId = approvals.idOf(key)
  if (approvalId === undefined) return
  batch.apply({ _tag: "ApprovalWithdrawn", approvalId, reason })
  approvals.remove(approvalId)
}

/** Warns about a budget that is nearly used up, and ends the run if it is used up. */
export const chargeBudget = (batch: BatchState, notices: ReadonlyArray<BudgetNotice>): void => {
  for (const notice of notices) {
    // A run with an outcome is not charged.
    if (batch.context.recorder.state.verdict !== undefined) return
    if (notice._tag === "Warn") {
      const { limit, text } = notice
      const message = { messageId: budgetNoticeId(limit), role: "system", channel: "text", text } as const
      batch.apply({ _tag: "EventEmitted", event: draft("run.message.completed", message) })
    } else {
      batch.apply({ _tag: "FailureImposed", error: notice.error })
    }
  }
}
