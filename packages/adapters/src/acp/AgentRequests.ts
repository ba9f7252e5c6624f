/**
 * Requests of an agent to its client, with the response to each: permissions, questions, forms and plans. With them are the permission request that
 * hands over a plan, and the extension methods of Grok Build.
 *
 * Guarantees: each request has one response. It has a choice only if a decision or a person made it. A request of a line over the limit, which
 * no person saw, is declined.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { ApprovalAnswer, InputResponse } from "@corral/domain/run/RuntimeAdapter"
import type { Relative } from "../files/RelativePath.ts"
import { LOST_REQUEST } from "../text/JsonLines.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { type JsonObject, arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import {
  type AcpInput,
  type ElicitationParams,
  isAction,
  offersAllowOnce,
  optionsOfKind,
  readAgentQuestion,
  readQuestionIn,
  toAcpApproval,
  toAcpInput,
  toPermissionResponse
} from "./Permission.ts"
import { declined } from "../form/Elicitation.ts"
import * as JsonRpc from "./JsonRpc.ts"
import { type UnverifiedFields, nestedIn } from "./AcpSchema.ts"
import { isReadOnlyMode } from "./SessionOpening.ts"
import type { SessionUpdates } from "./SessionUpdates.ts"
import { keepsSteps, type PlanFile } from "./AgentPlans.ts"
import { type ToolCall, contentTextsOf } from "./ToolCall.ts"
import { type OpenPermission, type OpenQuestion, WaitingRequests } from "./WaitingRequests.ts"
import { planTitleOf } from "../text/FirstLine.ts"
import type { InputAnswers, Question } from "@corral/domain/input/InputRequest"

// Questions and plans of Grok Build, which asks by its own extension methods.
//
// Guarantees: without an answer of a person the agent receives `cancelled`, also for an approved plan that ends the run, so that the agent
// begins no work: the run is cancelled next.

/** Answer for a text of the person, which goes with it as a note. */
const OTHER = "Other"

const labelsIn = (value: unknown): ReadonlyArray<string> =>
  arrayOf(Array.isArray(value) ? value : [value]).flatMap((part) =>
    typeof part === "string" ? [part] : isJsonObject(part) ? [OTHER] : []
  )

const notesIn = (value: unknown): string | undefined => {
  const other = arrayOf(Array.isArray(value) ? value : [value]).find(isJsonObject)
  return other === undefined ? undefined : textOf(other["other"])
}

/** Answers by the text of their question. */
const accepted = (questions: ReadonlyArray<Question>, answers: InputAnswers): object => {
  const chosen: Record<string, ReadonlyArray<string>> = {}
  const annotations: Record<string, { readonly notes: string }> = {}
  for (const { id, text } of questions) {
    const value = Object.hasOwn(answers, id) ? answers[id] : undefined
    if (value === undefined) continue
    chosen[text] = labelsIn(value)
    const notes = notesIn(value)
    if (notes !== undefined) annotations[text] = { notes }
  }
  const more = Object.keys(annotations).length === 0 ? {} : { annotations }
  return { outcome: "accepted", answers: chosen, ...more }
}

const askQuestions = (params: JsonObject, parentCallId: string | undefined): AcpInput | undefined => {
  const questions = arrayOf(params["questions"]).map(readAgentQuestion)
  const [first] = questions
  if (first === undefined) return undefined
  const call = defined({ callId: textOf(params["toolCallId"]), parentCallId })
  const title = questions.length === 1 ? first.text : `${questions.length} questions`
  const toResult = (response: InputResponse): object =>
    response._tag === "Answered" ? accepted(questions, response.answers) : { outcome: "cancelled" }
  return { request: { kind: "question", title, questions, ...call }, question: { toResult } }
}

const handOver = (params: JsonObject, parentCallId: string | undefined, input: JsonObject): AcpInput => {
  const plan = textOf(params["planContent"]) ?? textOf(input["plan"]) ?? "The agent did not write a plan."
  const call = defined({ callId: textOf(params["toolCallId"]), parentCallId })
  const toResult = (response: InputResponse): object => {
    if (response._tag === "PlanApproved" && !response.endsRun) return { outcome: "approved" }
    const feedback = response._tag === "PlanReturned" ? response.comment : undefined
    return { outcome: "cancelled", ...defined({ feedback }) }
  }
  return {
    request: { kind: "plan", title: planTitleOf(plan), plan, ...call },
    question: { toResult, takesComment: true }
  }
}

/** The question of a request; `undefined` for any other method. `input` is the input of its call. */
const readXaiRequest = (
  method: string,
  params: JsonObject,
  parentCallId: string | undefined,
  input: JsonObject
): AcpInput | undefined => {
  switch (method) {
    case "_x.ai/ask_user_question":
      return askQuestions(params, parentCallId)
    case "_x.ai/exit_plan_mode":
      return handOver(params, parentCallId, input)
    default:
      return undefined
  }
}

// Plan that an agent hands over, as its permission request for the end of its plan mode.
//
// Guarantees: an approval chooses the option that keeps asking for permissions. An approval that ends the run chooses nothing, so that the agent
// begins no work: the run is cancelled next.

/** Names of tools that hand over a plan, without case, `_` and `-`. */
const PLAN_TOOLS = new Set(["exitplanmode", "planexit", "exitplan"])

const cancelled: Acp.RequestPermissionResponse = { outcome: { outcome: "cancelled" } }

const planIn = (call: ToolCall, file: PlanFile): string =>
  textOf(call.input["plan"]) ||
  contentTextsOf(call).join("\n\n") ||
  textOf(call.input["summary"]) ||
  file.planIn(call.title) ||
  call.title

/** Whether the permission request of a call hands over a plan. */
const isPlanRequest = ({ input, kind, tool }: ToolCall): boolean =>
  PLAN_TOOLS.has(tool.replaceAll(/[_-]/g, "").toLowerCase()) ||
  (kind === "switch_mode" && typeof input["plan"] === "string")

/** The option that approves a plan; `undefined` if a person has to choose between ways to carry it out. */
const approvingOption = (options: unknown, { planApproval }: AcpAgent): string | undefined => {
  const ids = optionsOfKind(options, "allow_once").map(({ id }) => id)
  if (planApproval !== undefined && ids.includes(planApproval)) return planApproval
  return ids.length === 1 ? ids[0] : undefined
}

/** The plan of a permission request; `undefined` if the request needs a choice that a plan does not have. */
const readPlan = (
  call: ToolCall,
  options: unknown,
  agent: AcpAgent,
  { file, isReadOnly }: { readonly file: PlanFile; readonly isReadOnly: boolean }
): AcpInput | undefined => {
  const optionId = approvingOption(options, agent)
  // In a run that only plans, an approval chooses nothing.
  if (optionId === undefined && !isReadOnly) return undefined
  const toResult = (response: InputResponse): Acp.RequestPermissionResponse => {
    if (response._tag !== "PlanApproved") return toPermissionResponse(options, "deny")
    return response.endsRun || isReadOnly || optionId === undefined
      ? cancelled
      : { outcome: { outcome: "selected", optionId } }
  }
  const { callId, parentCallId } = call
  const plan = planIn(call, file)
  const request = {
    kind: "plan",
    title: planTitleOf(plan),
    plan,
    callId,
    ...defined({ parentCallId })
  } as const
  return { request, question: { toResult, callId } }
}

/** Parts of the conversation that requests use. */
export interface AgentRequestsHost {
  readonly collector: OutputCollector
  readonly agent: AcpAgent
  readonly reports: SessionUpdates
  readonly relative: Relative
  readonly mode: RunMode
  /** Sends a message after the turn. */
  readonly queue: (text: string) => void
}

export class AgentRequests {
  readonly #host: AgentRequestsHost
  readonly #permissions = new WaitingRequests<OpenPermission>()
  readonly #questions = new WaitingRequests<OpenQuestion>()
  #wasDenied = false
  #cancelling = false

  constructor(host: AgentRequestsHost) {
    this.#host = host
  }

  /** Whether a permission of this turn was denied. */
  get wasDenied(): boolean {
    return this.#wasDenied
  }

  /** Starts a turn: its prompt is sent. */
  beginTurn(): void {
    this.#wasDenied = false
  }

  /** Records that a cancel was sent. Nothing is asked after it. */
  cancel(): void {
    this.#cancelling = true
  }

  /** Reads a request. Returns false if it is not served. */
  read(id: JsonRpc.RpcId, method: string, params: JsonObject): boolean {
    switch (method) {
      case "session/request_permission":
        this.#requestPermission(id, params)
        return true
      case "elicitation/create":
        this.#elicit(id, params)
        return true
      default: {
        const { reports } = this.#host
        const parentCallId = reports.callOfSession(params["sessionId"])
        const input = reports.inputOf(textOf(params["toolCallId"]))
        const question = readXaiRequest(method, params, parentCallId, input)
        if (question === undefined || this.#isOpen(id) || this.#cancelling) return false
        this.#ask(id, question)
        return true
      }
    }
  }

  /** Declines a request of which only the first fields are known. */
  decline(id: JsonRpc.RpcId, method: string, params: JsonObject): void {
    switch (method) {
      case "session/request_permission": {
        const { options, toolCall }: UnverifiedFields<Acp.RequestPermissionRequest> = params
        const call = this.#host.reports.requestPermission(objectOf(toolCall))
        if (call !== undefined) this.#deny(call.callId)
        return this.#reply(JsonRpc.permissionLine(id, toPermissionResponse(options, "deny")))
      }
      case "elicitation/create":
        return this.#reply(JsonRpc.resultLine(id, declined))
      default:
        return this.#reply(JsonRpc.notFoundLine(id, LOST_REQUEST))
    }
  }

  /** The response to a permission request; `undefined` if it does not wait. */
  answer(key: string, { decision, updatedInput }: ApprovalAnswer): string | undefined {
    const permission = this.#permissions.take(key)
    if (permission === undefined) return undefined
    // The protocol cannot change an input.
    const effective = decision === "allow" && updatedInput !== undefined ? "deny" : decision
    if (effective === "allow") this.#host.reports.allow(permission.callId)
    else if (effective === "deny") this.#deny(permission.callId)
    else this.#host.reports.deny(permission.callId)
    return JsonRpc.permissionLine(permission.id, toPermissionResponse(permission.options, effective))
  }

  /** The response to a question, a form or a plan; `undefined` if it does not wait. */
  respond(key: string, response: InputResponse): string | undefined {
    const { collector, queue, reports } = this.#host
    const question = this.#questions.take(key)
    if (question === undefined || !collector.takeResponse(key)) return undefined
    const isAnswered = response._tag === "Answered" || (response._tag === "PlanApproved" && !response.endsRun)
    if (!isAnswered && question.callId !== undefined) reports.leaveUnanswered(question.callId)
    // A permission has no comment: it is the next message.
    if (response._tag === "PlanReturned" && response.comment !== undefined && question.takesComment !== true)
      queue(response.comment)
    return JsonRpc.resultLine(question.id, question.toResult(response))
  }

  /** Withdraws a request that the agent has cancelled, with a response that decides nothing. */
  withdraw(requestId: unknown): void {
    const question = this.#questions.keyOf(requestId)
    if (question !== undefined) return this.#withdrawQuestion(question, "withdrawn")
    const key = this.#permissions.keyOf(requestId)
    const permission = key === undefined ? undefined : this.#permissions.take(key)
    if (key === undefined || permission === undefined) return
    this.#host.collector.withdrawApproval(key, "the agent no longer waits for it")
    this.#reply(JsonRpc.permissionLine(permission.id, toPermissionResponse(undefined, "cancel")))
  }

  /** The person has done at an address what the agent waits for. */
  closeLink(elicitationId: unknown): void {
    const key = this.#questions.find(({ linkId }) => linkId !== undefined && linkId === elicitationId)
    if (key !== undefined) this.#withdrawQuestion(key, "self_answered")
  }

  #withdrawQuestion(key: string, state: "withdrawn" | "self_answered"): void {
    const question = this.#questions.take(key)
    if (question === undefined) return
    this.#host.collector.withdrawInput(key, state)
    this.#reply(JsonRpc.resultLine(question.id, question.toResult({ _tag: "Unanswered", reason: state })))
  }

  #deny(callId: string): void {
    this.#wasDenied = true
    this.#host.reports.deny(callId)
  }

  #reply(text: string): void {
    this.#host.collector.emit({ _tag: "Reply", text })
  }

  #ask(id: JsonRpc.RpcId, { question, request }: AcpInput): void {
    this.#host.collector.requestInput(this.#questions.add({ id, ...question }), request)
  }

  #isOpen(id: JsonRpc.RpcId): boolean {
    return this.#permissions.has(id) || this.#questions.has(id)
  }

  #elicit(id: JsonRpc.RpcId, params: ElicitationParams): void {
    const { agent, collector, reports } = this.#host
    if (this.#isOpen(id)) return collector.countUnknown("elicitation/create")
    const parentCallId =
      reports.callOfSession(params.sessionId) ?? reports.parentOf(textOf(params.toolCallId))
    const question = toAcpInput(params, parentCallId)
    if (question !== undefined && !this.#cancelling) return this.#ask(id, question)
    if (question === undefined)
      collector.notice(
        "warning",
        `${agent.label} asked for input in a form that can't be shown. It was declined.`
      )
    this.#reply(JsonRpc.resultLine(id, declined))
  }

  #requestPermission(
    id: JsonRpc.RpcId,
    { options, sessionId, toolCall }: UnverifiedFields<Acp.RequestPermissionRequest>
  ): void {
    const { agent, collector, relative, reports } = this.#host
    if (this.#isOpen(id)) return collector.countUnknown("session/request_permission")
    const call = reports.requestPermission(nestedIn(objectOf(toolCall), reports.callOfSession(sessionId)))
    if (call === undefined || !offersAllowOnce(options)) {
      collector.countUnknown("session/request_permission")
      return this.#reply(JsonRpc.permissionLine(id, toPermissionResponse(options, "deny")))
    }
    if (keepsSteps(call))
      return this.#reply(JsonRpc.permissionLine(id, toPermissionResponse(options, "allow")))
    const question = this.#questionOf(call, options)
    if (question !== undefined) return this.#ask(id, question)
    const key = this.#permissions.add({ id, options, callId: call.callId })
    collector.requestApproval(key, toAcpApproval(call, options, agent, relative))
  }

  /** The plan or the question of a permission request; `undefined` if it is about an action. */
  #questionOf(call: ToolCall, options: unknown): AcpInput | undefined {
    const { agent, mode, reports } = this.#host
    const isReadOnly = isReadOnlyMode(mode)
    const planning = { file: reports.planFile, isReadOnly }
    const plan = isPlanRequest(call) ? readPlan(call, options, agent, planning) : undefined
    if (plan !== undefined) return plan
    // A person cannot choose an action of a run that only reads.
    return isReadOnly && isAction(call, agent) ? undefined : readQuestionIn(call, options)
  }
}
