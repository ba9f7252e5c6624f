/** Outputs of an adapter, applied to their run one by one. */
import type { AdapterEvent, AdapterOutput, Outcome } from "@corral/domain/run/RuntimeAdapter"
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import { explainedFailure, withRefusal } from "../../confinement/FailureHints.ts"
import { admitQuestion, requestApproval, withdrawQuestion } from "./Requests.ts"
import { type BudgetNotice, budgetNoticeId } from "./BudgetMeter.ts"
import type { KernelState } from "./KernelState.ts"
import { relative, resolve, sep } from "node:path"

// File paths as the log records them: relative to the run's folder, regardless of how the runtime wrote them.
//
// Reads the text only and does not resolve links. A path outside the folder begins with `..`.

const inFolder = (root: string, path: string): string => {
  const named = relative(root, resolve(root, path))
  return named === "" ? "." : named.split(sep).join("/")
}

/** The event with its paths relative to `root`, a real path. */
export const withPathsIn = (root: string, event: AdapterEvent): AdapterEvent => {
  switch (event.type) {
    case "run.file.read":
      return draft(event.type, { ...event.payload, path: inFolder(root, event.payload.path) })
    case "run.patch.proposed":
      return draft(event.type, { ...event.payload, path: inFolder(root, event.payload.path) })
    case "run.file.changed": {
      const { fromPath, path, ...rest } = event.payload
      const from = fromPath === undefined ? {} : { fromPath: inFolder(root, fromPath) }
      return draft(event.type, { ...rest, path: inFolder(root, path), ...from })
    }
    default:
      return event
  }
}

/** Applies outputs from `from` on. From the first request to people that exceeds the turn, the outputs wait in the backlog. */
export const dispatch = (kernel: KernelState, outputs: ReadonlyArray<AdapterOutput>, from = 0): void => {
  for (let at = from; at < outputs.length; at++) {
    const output = outputs[at]
    if (output === undefined) return
    if (isRequest(output)) {
      if (!kernel.canRequest) return kernel.backlog.hold(outputs, at)
      if (!isApplied(kernel)) makeRequest(kernel, output)
    } else if (isApplied(kernel)) {
      restore(kernel, kernel.cost.read(output))
    } else {
      dispatchOne(kernel, kernel.cost.read(output))
    }
    kernel.position.outputs++
  }
}

type RequestOutput = Extract<AdapterOutput, { readonly _tag: "Approval" | "InputRequested" }>

const isRequest = (output: AdapterOutput): output is RequestOutput =>
  output._tag === "Approval" || output._tag === "InputRequested"

const makeRequest = (kernel: KernelState, output: RequestOutput): void =>
  output._tag === "Approval"
    ? requestApproval(kernel, { _tag: "Runtime", key: output.key }, output.request)
    : admitQuestion(kernel, output)

/** Whether an earlier Edge has applied the output. */
const isApplied = ({ appliedBefore, position }: KernelState): boolean => position.outputs < appliedBefore

/** What an applied output left, that is in no log. */
const restore = ({ budget, cost, reported, turn }: KernelState, output: AdapterOutput): void => {
  if (output._tag === "Reply") turn.writes.push(output.text)
  else if (output._tag === "Usage") budget.charge(output.usage, cost.unpriced)
  else if (output._tag === "Event" && output.event.type === "run.diff.ready") reported.diff = output.event
}

const dispatchOne = (kernel: KernelState, output: Exclude<AdapterOutput, RequestOutput>): void => {
  const { isFirstVersion, onUnknown, recorder, redaction, root } = kernel
  switch (output._tag) {
    case "Event":
      return applyEvent(kernel, withHints(kernel, withPathsIn(root, output.event)))
    case "ApprovalWithdrawn":
      return withdrawApproval(kernel, output.key, output.reason)
    case "Artifact":
      return recorder.addArtifact(
        redaction.value(output.name),
        redaction.value(output.mediaType),
        output.content,
        output.callId
      )
    case "InputWithdrawn":
      return withdrawQuestion(kernel, output)
    case "Work":
      return isFirstVersion ? undefined : kernel.apply({ ...output, _tag: "WorkChanged" })
    case "TurnStarted":
      return isFirstVersion ? undefined : startTurn(kernel, output)
    case "Reply":
      return void kernel.turn.writes.push(output.text)
    case "Usage":
      return reportUsage(kernel, output.usage)
    case "Outcome":
      return kernel.apply({ _tag: "OutcomeReported", outcome: explained(kernel, output.outcome) })
    case "Unknown":
      return onUnknown(redaction.value(output.what), redaction.value(output.raw))
  }
}

/** Charges the budget at once. The log has the usage later, together with that of the next model calls. */
const reportUsage = (kernel: KernelState, usage: Usage): void => {
  const { budget, cost } = kernel
  kernel.apply({ _tag: "UsageReported", usage })
  chargeBudget(kernel, budget.charge(usage, cost.unpriced))
  if (kernel.isUsageDue) return
  kernel.isUsageDue = true
  kernel.turn.reportsUsage = true
}

/** Reports what the run has used so far. The last event of the run has the rest. */
export const logUsage = (kernel: KernelState): void => {
  kernel.isUsageDue = false
  const { used, verdict } = kernel.recorder.state
  if (verdict !== undefined || used === undefined) return
  kernel.apply({ _tag: "EventEmitted", event: draft("run.usage.updated", { usage: used }), isFromEdge: true })
}

const isConfined = ({ recorder }: KernelState): boolean =>
  (recorder.run.confinement?.kind ?? "none") !== "none"

const withHints = (kernel: KernelState, event: AdapterEvent): AdapterEvent =>
  isConfined(kernel) ? withRefusal(event) : event

/** A failure of a program that has ended, with what it printed last. */
const explained = (kernel: KernelState, outcome: Outcome): Outcome => {
  const { end } = kernel.reported
  return end === undefined || outcome._tag !== "Failed"
    ? outcome
    : { ...outcome, error: explainedFailure(outcome.error, end, isConfined(kernel)) }
}

const startTurn = (
  kernel: KernelState,
  { by, ended }: Extract<AdapterOutput, { readonly _tag: "TurnStarted" }>
): void => kernel.apply({ _tag: "TurnStarted", by: by ?? "program", ended })

/** The changes of a run are reported once, at its end: the Edge's own measurement replaces what the runtime reported. */
const applyEvent = (kernel: KernelState, event: AdapterEvent): void => {
  if (event.type === "run.tool.result") kernel.turn.hasToolResult = true
  if (event.type === "run.diff.ready") kernel.reported.diff = event
  else kernel.apply({ _tag: "EventEmitted", event })
}

const withdrawApproval = (kernel: KernelState, key: string, reason: string): void => {
  const { approvals } = kernel
  const approvalId = approvals.idOf(key)
  if (approvalId === undefined) return
  kernel.apply({ _tag: "ApprovalWithdrawn", approvalId, reason })
  approvals.remove(approvalId)
}

/** Warns about a budget that is nearly used up, and ends the run if it is used up. */
export const chargeBudget = (kernel: KernelState, notices: ReadonlyArray<BudgetNotice>): void => {
  for (const notice of notices) {
    // A run with an outcome is not charged.
    if (kernel.recorder.state.verdict !== undefined) return
    if (notice._tag === "Warn") {
      const { limit, text } = notice
      const message = { messageId: budgetNoticeId(limit), role: "system", channel: "text", text } as const
      kernel.apply({ _tag: "EventEmitted", event: draft("run.message.completed", message) })
    } else {
      kernel.apply({ _tag: "FailureImposed", error: notice.error })
    }
  }
}
