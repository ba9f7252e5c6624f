/**
 * One run's conversation with an agent over the Agent Client Protocol, version 1.
 *
 * One request of ours is in progress at a time: `initialize`, a session (new or resumed), its mode and model if they are not the run's, then
 * prompts. Reports of a turn may follow the response to its prompt. So a barrier is sent after the response: when the agent refuses that
 * unknown method, everything before it has been read. A further user message waits for the end of the turn and starts the next one. After a
 * turn the conversation continues: background work ends, and the agent may start a turn by itself.
 *
 * Does not: serve files or terminals. Agents use their own tools, and such requests are refused.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type * as Acp from "@agentclientprotocol/sdk"
import type { AdapterOutput, Outcome, Protocol, RunImage, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { AgentRequests } from "./AgentRequests.ts"
import { type AcpRequest, initializeParams, lostReport } from "./JsonRpc.ts"
import {
  type AuthStatusUpdate,
  MAX_UNKNOWN_NAME,
  type SessionResponse,
  type UnverifiedFields,
  nestedIn
} from "./AcpSchema.ts"
import {
  acpFailure,
  acpFailureAtExit,
  type AcpPurpose,
  failureOfError,
  isExpectedError,
  toAcpOutcome
} from "./AcpOutcome.ts"
import * as JsonRpc from "./JsonRpc.ts"
import { SessionOpening, type OpeningStep } from "./SessionOpening.ts"
import { AcpWork } from "./AcpWork.ts"
import { SessionUpdates } from "./SessionUpdates.ts"

const toImageBlock = ({ base64: data, mediaType: mimeType }: RunImage): Acp.ContentBlock => ({
  type: "image",
  data,
  mimeType
})

const FIRST_ID = 0

export class AcpProtocol implements Protocol {
  readonly open: string
  readonly #agent: AcpAgent
  readonly #start: RunStart
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #reports: SessionUpdates
  /** Our request without a response. */
  #pending: { readonly id: JsonRpc.RpcId; readonly purpose: AcpPurpose } | undefined
  #nextId = FIRST_ID + 1
  #barriers = 0
  readonly #opening: SessionOpening
  readonly #requests: AgentRequests
  /** User messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  /** Outcome of the turn, evaluated after all of its reports were read. */
  #turnOutcome: (() => Outcome) | undefined
  #signIn: string | undefined
  #cancelling = false
  /** Whether a turn is in progress that the agent has started by itself. */
  #isOwnTurn = false
  readonly #work: AcpWork

  constructor(start: RunStart, agent: AcpAgent) {
    this.#start = start
    this.#agent = agent
    this.#opening = new SessionOpening(start, agent)
    this.#work = new AcpWork(this.#collector, agent, {
      start: () => this.#startOwnTurn(),
      end: (isFailed) => this.#endOwnTurn(isFailed)
    })
    const { isResumed } = this.#opening
    const relative = relativeTo(start.workspacePath)
    this.#reports = new SessionUpdates(this.#collector, agent, relative, isResumed, this.#work)
    this.#requests = new AgentRequests({
      collector: this.#collector,
      agent,
      reports: this.#reports,
      relative,
      mode: start.mode,
      queue: (text) => this.#queued.push(text)
    })
    this.#pending = { id: FIRST_ID, purpose: "initialize" }
    this.open = JsonRpc.initializeLine(FIRST_ID, initializeParams(agent.clientMeta))
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
    if (!this.#collector.isOver) {
      this.#reports.close()
      this.#collector.concludeAtExit(this.#agent.label, end)
    }
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, answer) => this.#requests.answer(key, answer)

  readonly respond: NonNullable<Protocol["respond"]> = (key, response) =>
    this.#requests.respond(key, response)

  readonly input: Protocol["input"] = (text) => {
    if (this.#collector.isOver || this.#cancelling) return undefined
    if (!this.#collector.isIdle || this.#pending !== undefined) {
      this.#queued.push(text)
      return ""
    }
    this.#collector.startTurn({ by: "message" })
    return this.#promptLine(text)
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    this.#reports.cancel()
    this.#requests.cancel()
    this.#queued.length = 0
    const { sessionId } = this.#opening
    return sessionId === undefined ? undefined : JsonRpc.cancelLine({ sessionId })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(
      lines,
      (value) => this.#readMessage(JsonRpc.readRpc(value)),
      (head) => this.#readLost(JsonRpc.readRpc(head))
    )
  }

  /** Reads a line over the limit, of which only the first fields are known. */
  #readLost(message: JsonRpc.RpcMessage): void {
    switch (message._tag) {
      case "Request":
        return this.#requests.decline(message.id, message.method, message.params)
      case "Notification": {
        const report = message.method === "session/update" ? lostReport(message.params) : undefined
        return report === undefined ? undefined : this.#readNotification(message.method, report)
      }
      case "Result":
      case "Error":
        return this.#readResponse(message)
    }
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

  #send(purpose: AcpPurpose, request: AcpRequest): void {
    this.#reply(this.#requestLine(purpose, request))
  }

  #requestLine(purpose: AcpPurpose, request: AcpRequest): string {
    const id = this.#nextId++
    this.#pending = { id, purpose }
    return JsonRpc.requestLine(id, request)
  }

  #reply(text: string): void {
    this.#collector.emit({ _tag: "Reply", text })
  }

  #sendBarrier(purpose: "history" | "drain"): void {
    const id = `barrier-${++this.#barriers}`
    this.#pending = { id, purpose }
    this.#reply(JsonRpc.barrierLine(id))
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

  #readError(purpose: AcpPurpose, error: UnverifiedFields<Acp.Error>): void {
    if (isExpectedError(purpose, error)) return purpose === "drain" ? this.#finishTurn() : this.#chooseNext()
    const evidence = { agent: this.#agent, isPrompted: purpose === "prompt", signIn: this.#signIn }
    const failure = failureOfError(purpose, error, evidence, this.#opening.isResumed)
    if (purpose !== "prompt") return this.#conclude({ _tag: "Failed", error: failure })
    this.#reports.readResponse({})
    return this.#endTurn(() => ({ _tag: "Failed", error: failure }))
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
    const line = this.#promptLine(text, images)
    if (line === undefined) this.#fail("protocol_broken")
    else this.#reply(line)
  }

  /** The prompt of a new turn; `undefined` without a session. */
  #promptLine(text: string, images: RunStart["images"] = []): string | undefined {
    this.#requests.beginTurn()
    this.#reports.beginTurn()
    const { sessionId } = this.#opening
    if (sessionId === undefined) return undefined
    const prompt: Array<Acp.ContentBlock> = [{ type: "text", text }, ...images.map(toImageBlock)]
    return this.#requestLine("prompt", { method: "session/prompt", params: { sessionId, prompt } })
  }

  /** The agent starts a turn without a prompt. During a prompt its reports belong to that turn. */
  #startOwnTurn(): void {
    if (!this.#collector.isIdle || this.#pending !== undefined) return
    this.#isOwnTurn = true
    this.#requests.beginTurn()
    this.#reports.beginTurn()
    this.#collector.startTurn()
  }

  #endOwnTurn(isFailed: boolean): void {
    if (!this.#isOwnTurn) return
    this.#isOwnTurn = false
    this.#reports.readResponse({})
    const failed: Outcome = { _tag: "Failed", error: acpFailure("agent_failed", this.#agent) }
    this.#turnOutcome = () =>
      isFailed ? failed : toAcpOutcome({ stopReason: "end_turn" }, this.#reports.progress, this.#agent)
    this.#finishTurn()
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
    return this.#requests.wasDenied && (wasStopped || outcome._tag === "Cancelled")
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
    this.#reports.endTurn(outcome._tag === "Completed")
    const next = outcome._tag === "Failed" || this.#cancelling ? undefined : this.#queued.shift()
    if (next !== undefined) return this.#prompt(next)
    if (this.#cancelling) return this.#conclude(outcome)
    this.#collector.endTurn(this.#withUsage(outcome))
  }

  #withUsage(outcome: Outcome): Outcome {
    const { usage } = this.#reports
    return usage === undefined ? outcome : { ...outcome, usage }
  }

  #conclude(outcome: Outcome): void {
    this.#reports.close()
    this.#collector.conclude(this.#withUsage(outcome))
  }

  #fail(reason: string): void {
    this.#conclude({ _tag: "Failed", error: acpFailure(reason, this.#agent) })
  }

  #readNotification(method: string, params: JsonObject): void {
    switch (method) {
      case "session/update": {
        const { sessionId, update }: UnverifiedFields<Acp.SessionNotification> = params
        const report = nestedIn(objectOf(update), this.#reports.callOfSession(sessionId))
        return this.#reports.read(report, this.#isPrompted, this.#opening.mode)
      }
      case "_x.ai/session_notification": {
        const { sessionId, update } = params
        this.#reports.readSubAgent(nestedIn(objectOf(update), this.#reports.callOfSession(sessionId)))
        return
      }
      case "$/cancel_request": {
        const { requestId }: UnverifiedFields<Acp.CancelRequestNotification> = params
        return this.#requests.withdraw(requestId)
      }
      case "elicitation/complete": {
        const { elicitationId }: UnverifiedFields<Acp.CompleteElicitationNotification> = params
        this.#requests.closeLink(elicitationId)
        return
      }
      case "_auth/status_update": {
        const { authStatus }: UnverifiedFields<AuthStatusUpdate> = params
        const { kind }: UnverifiedFields<AuthStatusUpdate["authStatus"]> = objectOf(authStatus)
        this.#signIn = textOf(kind)
        return
      }
      default:
        if (!this.#work.readMethod(method)) this.#countMethod(method)
        return
    }
  }

  /** Whether a turn is in progress, or the reports after it are read. */
  get #isPrompted(): boolean {
    return this.#isOwnTurn || this.#pending?.purpose === "prompt" || this.#pending?.purpose === "drain"
  }

  /** Counts a method as unknown, except methods of capabilities that we do not announce and the agent's own methods. */
  #countMethod(method: string): void {
    const hasPrefix = (prefix: string) => method.startsWith(prefix)
    if (!["fs/", "terminal/"].some(hasPrefix) && this.#agent.ownMethods?.some(hasPrefix) !== true)
      this.#collector.countUnknown(firstCharacters(method, MAX_UNKNOWN_NAME))
  }

  #readRequest(id: JsonRpc.RpcId, method: string, params: JsonObject): void {
    if (this.#requests.read(id, method, params)) return
    if (!this.#work.readMethod(method)) this.#countMethod(method)
    const message = `${firstCharacters(method, MAX_UNKNOWN_NAME)} is not served: this client has no file system and no terminals.`
    this.#reply(JsonRpc.notFoundLine(id, message))
  }
}
