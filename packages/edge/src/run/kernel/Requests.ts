/**
 * Requests of a runtime to people, and their answers: approvals, questions, forms and plans.
 *
 * Guarantees: the first valid answer wins; later ones are refused with the state of the request. A policy may decide an approval at once. No
 * mode, grant, default or timer answers a question, and what is not shown to people is declined without a choice.
 */
import { endsWithPlan } from "@corral/domain/approval/RunMode"
import {
  ApprovalAlreadyResolved,
  ApprovalExpired,
  NotFound,
  SchemaValidationFailed
} from "@corral/domain/errors/Failures"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import { firstCharacters } from "@corral/domain/text/Cut"
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import {
  type InputAnswer,
  MAX_INPUT_TEXT,
  MAX_OPTIONS,
  type RequestedInput
} from "@corral/domain/input/InputRequest"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, ApprovalAnswer, InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import { hasSecrets, makeSealingKeys, secretTexts, shownAnswers } from "../../input/SecretAnswers.ts"
import { type KernelState, isoTime } from "./KernelState.ts"
import { cutText } from "../../log/PayloadLimit.ts"
import { AnswerRefused, type DecideFailure, type RunMessageOf } from "./RunMessage.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalAsker } from "../../approval/PendingRequests.ts"
import { type PolicyVerdict, limitRequestSize } from "../../approval/Policy.ts"
import type { AssessedRequest, RunPolicy } from "../../approval/RunPolicy.ts"
import type { OutputRedaction } from "./OutputRedaction.ts"
import { inputChanges } from "@corral/domain/approval/InputEdit"
import type { InputEdit, RefusalCode } from "@corral/domain/run/RunMachine"

// Approval requests of a runtime or a connection: assessed, recorded, and answered immediately if the policy decides them.

// Decisions on pending approvals.

export const applyDecision = (kernel: KernelState, message: RunMessageOf<"Decide">): void => {
  const { approvals, policy, recorder, redaction, turn } = kernel
  const { approvalId, by, origin, reply } = message
  const isPending = recorder.state.pending.has(approvalId)
  const assessed = isPending ? approvals.get(approvalId)?.assessed : undefined
  if (assessed !== undefined && message.answer.updatedInput !== undefined && !assessed.request.editable)
    return turn.fail(reply, notEditable())
  const answer = assessed === undefined ? message.answer : policy.narrowed(assessed, message.answer)
  const edit = assessed === undefined ? undefined : editOf(assessed.request, answer, redaction)
  const actions = recorder.apply({ _tag: "ApprovalDecided", approvalId, answer, by, origin, edit })
  const refusal = actions.find((action) => action._tag === "Refuse")
  if (refusal === undefined) {
    if (assessed !== undefined)
      recorder.addRows(policy.remember(assessed, answer, { approvalId, by, nowMs: kernel.nowMs }))
    kernel.act(actions)
    turn.succeed(reply, undefined)
  } else {
    const state = recorder.state.resolved.get(approvalId)?.state ?? "cancelled"
    turn.fail(reply, refusalOf(refusal.code, approvalId, state))
  }
}

/** The edit as the log shows it: the runtime receives the allowed input whole, readers receive it without secrets. */
const editOf = (
  { input }: ApprovalRequest,
  { decision, updatedInput }: ApprovalAnswer,
  redaction: OutputRedaction
): InputEdit | undefined => {
  if (decision !== "allow" || updatedInput === undefined) return undefined
  if (inputChanges(input, updatedInput).length === 0) return undefined
  return { requestedInput: redaction.value(input), allowedInput: redaction.value(updatedInput) }
}

/** The runtime would run its own input and ignore the edit. */
const notEditable = () => {
  const message = "This action is allowed or denied as it is."
  return new SchemaValidationFailed({ details: { issues: [{ path: "updatedInput", message }] } })
}

const refusalOf = (
  code: RefusalCode,
  approvalId: ApprovalId,
  state: "approved" | "denied" | "expired" | "cancelled"
): DecideFailure => {
  switch (code) {
    case "approval_already_resolved":
      return new ApprovalAlreadyResolved({ details: { approvalId, state } })
    case "approval_expired":
      return new ApprovalExpired({ details: { approvalId, state } })
    default:
      return new NotFound()
  }
}

/** Reads a request. One that is not shown completely is neither edited nor remembered: the policy decides it each time. */
export const assessRequest = (
  policy: RunPolicy,
  redaction: OutputRedaction,
  requested: ApprovalRequest
): {
  readonly assessed: AssessedRequest
  readonly isWhole: boolean
  readonly refusal: string | undefined
} => {
  const { isWhole, refusal, request } = limitRequestSize(requested)
  const redacted = redaction.value(request)
  const assessed = policy.assess(
    isWhole && redacted === request ? request : { ...request, scopes: ["once"], editable: false },
    redacted
  )
  return { assessed, isWhole, refusal }
}

export const requestApproval = (
  kernel: KernelState,
  asker: ApprovalAsker,
  requested: ApprovalRequest
): void => {
  const { approvals, approvalMs, journal, policy, recorder, redaction } = kernel
  const approvalId = mint<ApprovalId>("apr", kernel.nowMs)
  const { assessed, isWhole, refusal } = assessRequest(policy, redaction, requested)
  kernel.turn.requestCost += costOf(requested, assessed)
  const expiresMs = kernel.nowMs + approvalMs
  const expiresAt = isoTime(expiresMs)
  approvals.add(approvalId, asker, assessed, expiresMs)
  const isFromEdge = asker._tag === "Connection"
  kernel.apply({ _tag: "ApprovalRequested", approvalId, request: assessed.shown, expiresAt, isFromEdge })
  if (journal !== undefined && recorder.state.pending.has(approvalId))
    recorder.addRows([
      journal.request(approvalId, asker._tag === "Runtime" ? asker : { connection: asker.address })
    ])
  const verdict = withSizeLimit(policy.judge(assessed, isWhole), refusal)
  if (verdict._tag === "Ask") return
  if (verdict.by === "policy:confined") approvals.allowNoChanges(approvalId)
  const answer: ApprovalAnswer =
    verdict._tag === "Allow"
      ? { decision: "allow", scope: "once" }
      : { decision: "deny", scope: "once", reason: verdict.reason }
  kernel.apply({ _tag: "ApprovalDecided", approvalId, answer, by: verdict.by, origin: "policy" })
}

/** Denies a request that is too large to show. */
const withSizeLimit = (verdict: PolicyVerdict, refusal: string | undefined): PolicyVerdict =>
  verdict._tag === "Ask" && refusal !== undefined
    ? { _tag: "Deny", by: "policy:size", reason: refusal }
    : verdict

/** A long command takes longer to read, and so does one that names many files. */
const costOf = ({ command = "" }: ApprovalRequest, { lookups }: AssessedRequest): number =>
  1 + Math.floor(command.length / 2_048) + Math.floor(lookups / 512)

type RequestedOutput = Extract<AdapterOutput, { readonly _tag: "InputRequested" }>
type WithdrawnOutput = Extract<AdapterOutput, { readonly _tag: "InputWithdrawn" }>

/** Largest request without its plan, and largest plan, in bytes of JSON. Both fit in one event. */
const REQUEST_BYTES = 131_072
const PLAN_BYTES = 98_304

const areUnique = (parts: ReadonlyArray<{ readonly id: string }>): boolean =>
  new Set(parts.map(({ id }) => id)).size === parts.length

/** Whether an answer can name each question and each option of the request. */
const isAnswerable = ({ questions = [] }: RequestedInput): boolean =>
  areUnique(questions) && questions.every(({ options = [] }) => areUnique(options))

/** Whether a person can see all of the request, apart from its plan. */
const isShowable = (request: RequestedInput): boolean =>
  (request.questions ?? []).every(({ options = [] }) => options.length <= MAX_OPTIONS) &&
  Buffer.byteLength(JSON.stringify({ ...request, plan: undefined })) <= REQUEST_BYTES

export const admitQuestion = (kernel: KernelState, output: RequestedOutput): void => {
  const { recorder, redaction } = kernel
  kernel.turn.requestCost++
  const inputId = mint<InputRequestId>("inq", kernel.nowMs)
  if (kernel.isFirstVersion) return decline(kernel, inputId, output.key, "Questions are not supported here.")
  if (!isShowable(output.request)) {
    notice(kernel, "The agent asked a question that is too large to show. It was not answered.")
    return decline(kernel, inputId, output.key, "The question is too large to be shown to the user.")
  }
  if (!isAnswerable(output.request)) {
    notice(kernel, "The agent asked a question with two parts of the same id. It was not answered.")
    return decline(kernel, inputId, output.key, "Two parts of the question have the same id.")
  }
  if (recorder.state.verdict !== undefined) return decline(kernel, inputId, output.key, "The run is ending.")
  openQuestion(kernel, inputId, output.key, redaction.value(withShortPlan(kernel, output.request)))
}

/** Records the question, under its runtime's key. */
export const openQuestion = (
  kernel: KernelState,
  inputId: InputRequestId,
  key: string,
  shown: RequestedInput
): void => {
  const { holdKey, inputs, journal, recorder } = kernel
  const { inputTtlMs } = recorder.run
  const expiresMs = inputTtlMs === undefined ? undefined : kernel.nowMs + inputTtlMs
  const sealing = hasSecrets(shown) ? makeSealingKeys() : undefined
  // The public key is no secret, and redaction could take it for one.
  const request = sealing === undefined ? shown : { ...shown, sealingKey: sealing.publicKey }
  kernel.act(
    recorder.apply({
      _tag: "InputRequested",
      inputId,
      request,
      ...(expiresMs === undefined ? {} : { expiresAt: isoTime(expiresMs) })
    })
  )
  if (!recorder.state.pendingInputs.has(inputId)) return
  inputs.add({ id: inputId, key, expiresMs, sealing })
  if (sealing !== undefined) holdKey(inputId, sealing.privateKey)
  if (journal !== undefined) recorder.addRows([journal.question(inputId, key)])
}

/** The runtime no longer waits, or continued without an answer. */
export const withdrawQuestion = (kernel: KernelState, { key, state }: WithdrawnOutput): void => {
  const { inputs } = kernel
  const inputId = inputs.idOf(key)
  if (inputId === undefined) return
  kernel.apply({ _tag: "InputWithdrawn", inputId, state })
  inputs.remove(inputId)
}

/** Asks a question again whose key for secret answers is lost. The run continues to wait in between. */
export const askAgain = (kernel: KernelState, { inputId, key }: RunMessageOf<"KeyLost">): void => {
  const request = kernel.recorder.state.pendingInputs.get(inputId)
  if (request === undefined) return
  openQuestion(kernel, mint<InputRequestId>("inq", kernel.nowMs), key, request)
  kernel.apply({ _tag: "InputWithdrawn", inputId, state: "withdrawn" })
}

/** Answers an open question. The first valid answer wins; later ones are refused. */
export const applyAnswer = (kernel: KernelState, message: RunMessageOf<"AnswerInput">): void => {
  const { recorder, redaction, turn } = kernel
  const { answer, by, inputId, keep, origin, reply, stored } = message
  const request = recorder.state.pendingInputs.get(inputId)
  const issues = request === undefined ? [] : answerIssues(request, answer)
  if (issues.length > 0) {
    return turn.fail(reply, new SchemaValidationFailed({ details: { issues } }))
  }
  if (request !== undefined) {
    if ("answers" in answer) redaction.learn(secretTexts(request, answer.answers))
    if (keep !== undefined) recorder.addAnswer(inputId, keep)
    if (stored !== undefined) turn.storedAnswers.set(inputId, stored)
  }
  const actions = recorder.apply({
    _tag: "InputAnswered",
    inputId,
    answer,
    shown: redaction.value(request === undefined ? {} : shownOf(request, answer)),
    by,
    origin,
    endsRun: request?.kind === "plan" && endsWithPlan(recorder.run.mode)
  })
  if (actions.some(({ _tag }) => _tag === "Refuse")) return turn.fail(reply, new AnswerRefused())
  kernel.act(actions)
  turn.succeed(reply, undefined)
}

const shownOf = (request: RequestedInput, answer: InputAnswer) => ({
  ...("answers" in answer ? { answers: shownAnswers(request, answer.answers) } : {}),
  ...(answer.comment === undefined ? {} : { comment: answer.comment })
})

/** The whole of a long plan is an artifact. */
const withShortPlan = (kernel: KernelState, request: RequestedInput): RequestedInput => {
  const { plan } = request
  if (plan === undefined) return request
  const short = cutText(firstCharacters(plan, MAX_INPUT_TEXT), PLAN_BYTES)
  if (short === plan) return request
  kernel.recorder.addArtifact("plan.md", "text/markdown; charset=utf-8", plan)
  notice(kernel, "The plan is longer than a question can show. The artifact plan.md has the whole plan.")
  return { ...request, plan: short }
}

const notice = (kernel: KernelState, text: string): void =>
  kernel.apply({
    _tag: "EventEmitted",
    event: draft("run.notice", { kind: "warning", text }),
    isFromEdge: true
  })

const decline = (kernel: KernelState, inputId: InputRequestId, key: string, reason: string): void => {
  const response: InputResponse = { _tag: "Unanswered", reason }
  kernel.callAdapter({ _tag: "Respond", inputId, key, response }, kernel.protocol.respond?.(key, response))
}
