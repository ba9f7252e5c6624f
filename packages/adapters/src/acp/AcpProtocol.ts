/**
 * One run's conversation with an agent over the Agent Client Protocol, version 1.
 *
 * One request of ours is in progress at a time: `initialize`, a session (new or resumed), its mode and model if they are not the run's, then
 * prompts. Reports of a turn may follow the response to its prompt. So a barrier is sent after the response: when the agent refuses that
 * unknown method, everything before it has been read. A further user message waits for the end of the turn and starts the next one.
 *
 * Does not: serve files or terminals. Agents use their own tools, and such requests are refused.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type { AdapterOutput, Outcome, Protocol, RunImage, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { AuthStatusUpdate, SessionResponse } from "./AcpExtensions.ts"
import {
  acpFailure,
  toAcpFailure,
  acpFailureAtExit,
  isUnknownSession,
  toAcpOutcome,
  errorText,
  type AcpEvidence
} from "./AcpOutcome.ts"
import { initializeParams, type AcpRequest } from "./AcpRequest.ts"
import * as JsonRpc from "./JsonRpc.ts"
import { SessionOpening, type OpeningStep } from "./SessionOpening.ts"
import { toAcpApproval, offersAllowOnce, toPermissionResponse } from "./Permission.ts"
import { OpenPermissions } from "./OpenPermissions.ts"
import { MAX_UNKNOWN_NAME, SessionUpdates } from "./SessionUpdates.ts"
import type { UnverifiedFields } from "./UnverifiedFields.ts"

/** Purpose of the request in progress. `history`: barrier after a loaded session's old messages. `drain`: barrier after a turn. */
type Purpose = "initialize" | "session" | "history" | "mode" | "model" | "prompt" | "drain"

const toImageBlock = ({ base64: data, mediaType: mimeType }: RunImage): Acp.ContentBlock => ({
  type: "image",
  data,
  mimeType
})

const FIRST_ID = 0
const INITIALIZE = JsonRpc.initializeLine(FIRST_ID, initializeParams)

export class AcpProtocol implements Protocol {
  readonly open: string
  readonly #agent: AcpAgent
  readonly #start: RunStart
  readonly #relative: Relative
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #reports: SessionUpdates
  /** Our request without a response. */
  #pending: { readonly id: JsonRpc.RpcId; readonly purpose: Purpose } | undefined
  #nextId = FIRST_ID + 1
  #barriers = 0
  readonly #opening: SessionOpening
  readonly #permissions = new OpenPermissions()
  /** User messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  /** Outcome of the turn, evaluated after all of its reports were read. */
  #turnOutcome: (() => Outcome) | undefined
  #signIn: string | undefined
  #wasDenied = false
  #cancelling = false

  constructor(start: RunStart, agent: AcpAgent) {
    this.#start = start
    this.#agent = agent
    this.#relative = relativeTo(start.workspacePath)
    this.#opening = new SessionOpening(start, agent)
    this.#reports = new SessionUpdates(this.#collector, agent, this.#relative, this.#opening.isResumed)
    this.#pending = { id: FIRST_ID, purpose: "initialize" }
    this.open = INITIALIZE
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const failure = acpFailureAtExit(end, this.#agent, this.#nextId > FIRST_ID + 1)
    // A queued message would have no answer.
    if (this.#turnOutcome !== undefined && this.#queued.length === 0) this.#finishTurn()
    else if (failure !== undefined) this.#collector.fail(failure)
    else {
      this.#reports.close()
      this.#collector.concludeAtExit(this.#agent.label, end)
    }
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, updatedInput }) => {
    const permission = this.#permissions.take(key)
    if (permission === undefined) return undefined
    // The protocol cannot change an input.
    const effective = decision === "allow" && updatedInput !== undefined ? "deny" : decision
    if (effective !== "allow") this.#reports.deny(permission.callId)
    if (effective === "deny") this.#wasDenied = true
    return JsonRpc.permissionLine(permission.id, toPermissionResponse(permission.options, effective))
  }

  readonly input: Protocol["input"] = (text) => {
    if (this.#collector.isOver || this.#cancelling) return undefined
    this.#queued.push(text)
    return ""
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    this.#reports.cancel()
    this.#queued.length = 0
    const { sessionId } = this.#opening
    return sessionId === undefined ? undefined : JsonRpc.cancelLine({ sessionId })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (value) => this.#readMessage(JsonRpc.readRpc(value)))
  }

  #readMessage(message: JsonRpc.RpcMessage): void {
    switch (message._tag) {
      case "Notification":
        return this.#readNotification(message.method, message.params)
      case "Request":
        return this.#readRequest(message.id, message.method, message.params)
      case "Result":
      case "Error":
        return this.#readResponse(message)
      case "Invalid":
        return this.#collector.countUnknown("untyped")
    }
  }

  #send(purpose: Purpose, request: AcpRequest): void {
    const id = this.#nextId++
    this.#pending = { id, purpose }
    this.#collector.emit({ _tag: "Reply", text: JsonRpc.requestLine(id, request) })
  }

  #sendBarrier(purpose: "history" | "drain"): void {
    const id = `barrier-${++this.#barriers}`
    this.#pending = { id, purpose }
    this.#collector.emit({ _tag: "Reply", text: JsonRpc.barrierLine(id) })
  }

  /** Sends the next request before a prompt, or ends the run. */
  #advance(step: OpeningStep): void {
    if (this.#cancelling) return this.#conclude({ _tag: "Cancelled" })
    if (step._tag === "Refuse") return this.#fail(step.reason)
    this.#send(step.purpose, step.request)
  }

  #readResponse(response: JsonRpc.RpcResponse): void {
    const pending = this.#pending
    if (pending === undefined || pending.id !== response.id) return this.#collector.countUnknown("response")
    this.#pending = undefined
    if (response._tag === "Error") return this.#readError(pending.purpose, response.error)
    const { result } = response
    switch (pending.purpose) {
      case "initialize":
        return this.#advance(this.#opening.readAgent(result))
      case "session":
        return this.#openSession(result)
      case "history":
      case "mode":
      case "model":
        return this.#chooseNext()
      case "prompt":
        this.#reports.readResponse(result)
        return this.#endTurn(() => toAcpOutcome(result, this.#reports.progress, this.#agent))
      case "drain":
        return this.#finishTurn()
    }
  }

  #readError(purpose: Purpose, error: UnverifiedFields<Acp.Error>): void {
    const failureOr = (otherwise: string) => {
      const evidence: AcpEvidence = {
        agent: this.#agent,
        isPrompted: purpose === "prompt",
        signIn: this.#signIn
      }
      return toAcpFailure(error, evidence, otherwise)
    }
    switch (purpose) {
      case "initialize":
        return this.#conclude({ _tag: "Failed", error: failureOr("protocol_broken") })
      case "session": {
        const { isResumed } = this.#opening
        const failure =
          isResumed && isUnknownSession(error)
            ? acpFailure("unknown_session", this.#agent)
            : failureOr(isResumed ? "unknown_session" : "session_refused")
        return this.#conclude({ _tag: "Failed", error: failure })
      }
      case "mode":
        // An agent may refuse the mode that it is already in.
        if (/already in \S+ mode/i.test(errorText(error))) return this.#chooseNext()
        return this.#conclude({ _tag: "Failed", error: failureOr("mode_refused") })
      case "model":
        return this.#conclude({ _tag: "Failed", error: failureOr("model_refused") })
      case "prompt": {
        const failure = failureOr("agent_failed")
        this.#reports.readResponse({})
        return this.#endTurn(() => ({ _tag: "Failed", error: failure }))
      }
      case "history":
        return this.#chooseNext()
      case "drain":
        return this.#finishTurn()
    }
  }

  #openSession(session: UnverifiedFields<SessionResponse>): void {
    const reason = this.#opening.readSession(session)
    if (reason !== undefined) return this.#fail(reason)
    // An agent may send old messages after the response.
    if (this.#opening.isResumed) this.#sendBarrier("history")
    else this.#chooseNext()
  }

  /** Sends the next choice, or the prompt after the last one. */
  #chooseNext(): void {
    const choice = this.#opening.takeChoice()
    if (choice !== undefined) return this.#advance(choice)
    if (this.#cancelling) return this.#conclude({ _tag: "Cancelled" })
    this.#collector.start(this.#opening.started)
    this.#prompt(this.#start.prompt, this.#agent.images === "native" ? this.#start.images : [])
  }

  #prompt(text: string, images: RunStart["images"] = []): void {
    this.#wasDenied = false
    this.#reports.beginTurn()
    const { sessionId } = this.#opening
    if (sessionId === undefined) return this.#fail("protocol_broken")
    this.#send("prompt", {
      method: "session/prompt",
      params: { sessionId, prompt: [{ type: "text", text }, ...images.map(toImageBlock)] }
    })
  }

  /** Ends the turn. Its reports may still follow, the end of its last message too. */
  #endTurn(outcome: () => Outcome): void {
    this.#turnOutcome = outcome
    this.#sendBarrier("drain")
  }

  /** Outcome with what the agent's response leaves out: a cancel, and a stop after a denial. */
  #amendOutcome(outcome: Outcome): Outcome {
    if (this.#cancelling) return { _tag: "Cancelled", reason: "interrupted" }
    // Some agents stop at a denial, as cancelled or as completed.
    const isLast = outcome._tag === "Completed" && this.#queued.length === 0
    const wasStopped = isLast && this.#reports.stoppedAtDenial
    return this.#wasDenied && (wasStopped || outcome._tag === "Cancelled")
      ? { _tag: "Cancelled", reason: "it stopped because a permission was denied" }
      : outcome
  }

  /** All reports of the turn were read: starts the next turn with a queued message, or ends the run. */
  #finishTurn(): void {
    const turnOutcome = this.#turnOutcome
    if (turnOutcome === undefined) return
    this.#turnOutcome = undefined
    this.#reports.close()
    const outcome = this.#amendOutcome(turnOutcome())
    const next = outcome._tag === "Completed" ? this.#queued.shift() : undefined
    if (next === undefined) this.#conclude(outcome)
    else this.#prompt(next)
  }

  #conclude(outcome: Outcome): void {
    this.#reports.close()
    const { usage } = this.#reports
    this.#collector.conclude(usage === undefined ? outcome : { ...outcome, usage })
  }

  #fail(reason: string): void {
    this.#conclude({ _tag: "Failed", error: acpFailure(reason, this.#agent) })
  }

  #readNotification(method: string, params: JsonObject): void {
    switch (method) {
      case "session/update": {
        const { update }: UnverifiedFields<Acp.SessionNotification> = params
        return this.#reports.read(objectOf(update), this.#isPrompted, this.#opening.mode)
      }
      case "$/cancel_request": {
        const { requestId }: UnverifiedFields<Acp.CancelRequestNotification> = params
        return this.#withdrawPermission(requestId)
      }
      case "_auth/status_update": {
        const { authStatus }: UnverifiedFields<AuthStatusUpdate> = params
        const { kind }: UnverifiedFields<AuthStatusUpdate["authStatus"]> = objectOf(authStatus)
        this.#signIn = textOf(kind)
        return
      }
      default:
        return this.#countMethod(method)
    }
  }

  /** Whether a prompt is in progress, or the reports after it are read. */
  get #isPrompted(): boolean {
    return this.#pending?.purpose === "prompt" || this.#pending?.purpose === "drain"
  }

  /** Counts a method as unknown, except methods of capabilities that we do not announce and the agent's own methods. */
  #countMethod(method: string): void {
    const hasPrefix = (prefix: string) => method.startsWith(prefix)
    if (!["fs/", "terminal/"].some(hasPrefix) && this.#agent.ownMethods?.some(hasPrefix) !== true)
      this.#collector.countUnknown(method.slice(0, MAX_UNKNOWN_NAME))
  }

  #readRequest(id: JsonRpc.RpcId, method: string, params: JsonObject): void {
    if (method === "session/request_permission") return this.#requestPermission(id, params)
    this.#countMethod(method)
    const message = `${method.slice(0, MAX_UNKNOWN_NAME)} is not served: this client has no file system and no terminals.`
    this.#collector.emit({ _tag: "Reply", text: JsonRpc.notFoundLine(id, message) })
  }

  #requestPermission(
    id: JsonRpc.RpcId,
    { options, toolCall }: UnverifiedFields<Acp.RequestPermissionRequest>
  ): void {
    if (this.#permissions.has(id)) return this.#collector.countUnknown("session/request_permission")
    const call = this.#reports.requestPermission(objectOf(toolCall))
    if (call === undefined || !offersAllowOnce(options)) {
      this.#collector.countUnknown("session/request_permission")
      const text = JsonRpc.permissionLine(id, toPermissionResponse(options, "deny"))
      return this.#collector.emit({ _tag: "Reply", text })
    }
    const key = this.#permissions.add({ id, options, callId: call.callId })
    this.#collector.requestApproval(key, toAcpApproval(call, options, this.#agent, this.#relative))
  }

  /** Withdraws a request that the agent has cancelled, with a response that decides nothing. */
  #withdrawPermission(requestId: unknown): void {
    const key = this.#permissions.keyOf(requestId)
    const permission = key === undefined ? undefined : this.#permissions.take(key)
    if (key === undefined || permission === undefined) return
    this.#collector.withdrawApproval(key, "the agent no longer waits for it")
    this.#collector.emit({
      _tag: "Reply",
      text: JsonRpc.permissionLine(permission.id, toPermissionResponse(undefined, "cancel"))
    })
  }
}
