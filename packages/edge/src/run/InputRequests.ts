/**
 * Questions, forms and plans of a runtime: bounded, recorded, and left to people.
 *
 * Guarantees: no mode, grant, default or timer answers. What is not shown to people is declined without a choice.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type { InputRequestId } from "@corral/domain/identity/Ids"
import { MAX_INPUT_TEXT, MAX_OPTIONS, type RequestedInput } from "@corral/domain/input/InputRequest"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { mint } from "@corral/service/Identifiers"
import { hasSecrets, makeSealingKeys } from "../input/SecretAnswers.ts"
import { type BatchState, isoTime } from "./BatchState.ts"
import { cutText } from "./PayloadLimit.ts"
import type { RunMessageOf } from "./RunMessage.ts"

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

export const admitQuestion = (batch: BatchState, output: RequestedOutput): void => {
  const { recorder, redaction } = batch.context
  batch.approvalCost++
  const inputId = mint<InputRequestId>("inq", batch.nowMs)
  if (batch.context.isFirstVersion)
    return decline(batch, inputId, output.key, "Questions are not supported here.")
  if (!isShowable(output.request)) {
    notice(batch, "The agent asked a question that is too large to show. It was not answered.")
    return decline(batch, inputId, output.key, "The question is too large to be shown to the user.")
  }
  if (!isAnswerable(output.request)) {
    notice(batch, "The agent asked a question with two parts of the same id. It was not answered.")
    return decline(batch, inputId, output.key, "Two parts of the question have the same id.")
  }
  if (recorder.state.verdict !== undefined) return decline(batch, inputId, output.key, "The run is ending.")
  openQuestion(batch, inputId, output.key, redaction.value(withShortPlan(batch, output.request)))
}

/** Records the question, under its runtime's key. */
export const openQuestion = (
  batch: BatchState,
  inputId: InputRequestId,
  key: string,
  shown: RequestedInput
): void => {
  const { holdKey, inputs, journal, recorder } = batch.context
  const { inputTtlMs } = recorder.run
  const expiresMs = inputTtlMs === undefined ? undefined : batch.nowMs + inputTtlMs
  const sealing = hasSecrets(shown) ? makeSealingKeys() : undefined
  // The public key is no secret, and redaction could take it for one.
  const request = sealing === undefined ? shown : { ...shown, sealingKey: sealing.publicKey }
  batch.act(
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
export const withdrawQuestion = (batch: BatchState, { key, state }: WithdrawnOutput): void => {
  const { inputs } = batch.context
  const inputId = inputs.idOf(key)
  if (inputId === undefined) return
  batch.apply({ _tag: "InputWithdrawn", inputId, state })
  inputs.remove(inputId)
}

/** Asks a question again whose key for secret answers is lost. The run continues to wait in between. */
export const askAgain = (batch: BatchState, { inputId, key }: RunMessageOf<"KeyLost">): void => {
  const request = batch.context.recorder.state.pendingInputs.get(inputId)
  if (request === undefined) return
  openQuestion(batch, mint<InputRequestId>("inq", batch.nowMs), key, request)
  batch.apply({ _tag: "InputWithdrawn", inputId, state: "withdrawn" })
}

/** The whole of a long plan is an artifact. */
const withShortPlan = (batch: BatchState, request: RequestedInput): RequestedInput => {
  const { plan } = request
  if (plan === undefined) return request
  const short = cutText(firstCharacters(plan, MAX_INPUT_TEXT), PLAN_BYTES)
  if (short === plan) return request
  batch.context.recorder.addArtifact("plan.md", "text/markdown; charset=utf-8", plan)
  notice(batch, "The plan is longer than a question can show. The artifact plan.md has the whole plan.")
  return { ...request, plan: short }
}

const notice = (batch: BatchState, text: string): void =>
  batch.apply({
    _tag: "EventEmitted",
    event: draft("run.notice", { kind: "warning", text }),
    isFromEdge: true
  })

const decline = (batch: BatchState, inputId: InputRequestId, key: string, reason: string): void => {
  const response: InputResponse = { _tag: "Unanswered", reason }
  batch.callAdapter(
    { _tag: "Respond", inputId, key, response },
    batch.context.protocol.respond?.(key, response)
  )
}
