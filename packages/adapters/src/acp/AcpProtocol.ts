/**
 * One run's conversation with an agent over the Agent Client Protocol, version 1.
 *
 * One request of ours is under way at a time: `initialize`, a session (new, or an earlier one by what the agent can), its mode and model where
 * they are not what the run wants, then prompts. After a prompt's answer there may be reports that belong to it: a request that no agent knows
 * is sent behind it, and when that is refused, everything before it has been read. A further message of a person waits for the turn's end and
 * begins the next one.
 *
 * An adapter does no I/O: it says that it has no file system and no terminals, so an agent uses its own tools, and such requests are refused.
 */
import type { AdapterOutput, Outcome, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import {
  acpFailure,
  toAcpFailure,
  acpFailureAtExit,
  isUnknownSession,
  toAcpOutcome,
  errorText,
  type AcpEvidence
} from "./AcpOutcome.ts"
import * as JsonRpc from "./JsonRpc.ts"
import { initialize, Opening, type OpeningStep } from "./Opening.ts"
import { toAcpApproval, offersAllowOnce, toPermissionAnswer as decisionOutcome } from "./Permission.ts"
import { OpenPermissions } from "./OpenPermissions.ts"
import { MAX_NAME, Reports } from "./Reports.ts"

/** What the request under way is for. `history`: behind a loaded session's old messages. `drain`: behind a turn's last reports. */
type Purpose = "initialize" | "session" | "history" | "mode" | "model" | "prompt" | "drain"

/** A request that no agent serves: its refusal says that everything before it was read. */
const BARRIER = "_corral/barrier"

const FIRST_ID = 0
/** The first request, the same for every conversation. */
const OPEN = JsonRpc.rpcRequest(FIRST_ID, "initialize", initialize)

export class AcpProtocol implements Protocol {
  readonly open: string
  readonly #agent: AcpAgent
  readonly #start: RunStart
  readonly #relative: Relative
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #reports: Reports
  /** The request of ours that is not answered yet. */
  #awaited: { readonly id: JsonRpc.RpcId; readonly purpose: Purpose } | undefined
  #nextId = FIRST_ID + 1
  #barriers = 0
  readonly #opening: Opening
  readonly #permissions = new OpenPermissions()
  /** Messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  /** What the last prompt's answer tells, judged when all that belongs to its turn has been read. */
  #judge: (() => Outcome) | undefined
  #signIn: string | undefined
  #denied = false
  #cancelling = false

  constructor(start: RunStart, agent: AcpAgent) {
    this.#start = start
    this.#agent = agent
    this.#relative = relativeTo(start.workspacePath)
    this.#opening = new Opening(start, agent)
    this.#reports = new Reports(this.#collector, agent, this.#relative, this.#opening.resumed)
    this.#awaited = { id: FIRST_ID, purpose: "initialize" }
    this.open = OPEN
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const failed = acpFailureAtExit(end, this.#agent, this.#nextId > FIRST_ID + 1)
    // A message that waits would have no answer.
    if (this.#judge !== undefined && this.#queued.length === 0) this.#drained()
    else if (failed !== undefined) this.#collector.fail(failed)
    else {
      this.#reports.close()
      this.#collector.concludeAtExit(this.#agent.label, end)
    }
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, updatedInput }) => {
    const asked = this.#permissions.take(key)
    if (asked === undefined) return undefined
    // There is no way to tell an agent another input than its own.
    const told = decision === "allow" && updatedInput !== undefined ? "deny" : decision
    if (told !== "allow") this.#reports.deny(asked.callId)
    if (told === "deny") this.#denied = true
    return JsonRpc.rpcAnswer(asked.id, decisionOutcome(asked.options, told))
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
    return sessionId === undefined ? undefined : JsonRpc.rpcNotification("session/cancel", { sessionId })
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#received(JsonRpc.readRpc(said)))
  }

  #received(received: JsonRpc.RpcMessage): void {
    switch (received._tag) {
      case "Notification":
        return this.#notified(received.method, received.params)
      case "Request":
        return this.#requested(received.id, received.method, received.params)
      case "Result":
      case "Error":
        return this.#answered(received)
      case "Strange":
        return this.#collector.countUnknown("untyped")
    }
  }

  #request(purpose: Purpose, method: string, params: JsonObject): string {
    const id = this.#nextId++
    this.#awaited = { id, purpose }
    return JsonRpc.rpcRequest(id, method, params)
  }

  #barrier(purpose: "history" | "drain"): void {
    const id = `barrier-${++this.#barriers}`
    this.#awaited = { id, purpose }
    this.#collector.emit({ _tag: "Reply", text: JsonRpc.rpcRequest(id, BARRIER, {}) })
  }

  #send(purpose: Purpose, method: string, params: JsonObject): void {
    this.#collector.emit({ _tag: "Reply", text: this.#request(purpose, method, params) })
  }

  /** Asks what is next before a prompt, or says why there will be none. */
  #ask(asking: OpeningStep): void {
    if (this.#cancelling) return this.#conclude({ _tag: "Cancelled" })
    if (asking._tag === "Refuse") return this.#fail(asking.reason)
    this.#send(asking.purpose, asking.method, asking.params)
  }

  #answered(received: Extract<JsonRpc.RpcMessage, { readonly _tag: "Result" | "Error" }>): void {
    const awaited = this.#awaited
    if (awaited === undefined || awaited.id !== received.id) return this.#collector.countUnknown("response")
    this.#awaited = undefined
    if (received._tag === "Error") return this.#refused(awaited.purpose, received.error)
    const { result } = received
    switch (awaited.purpose) {
      case "initialize":
        return this.#ask(this.#opening.initialized(result))
      case "session":
        return this.#opened(result)
      case "history":
      case "mode":
      case "model":
        return this.#choose()
      case "prompt":
        this.#reports.answered(result)
        return this.#turned(() => toAcpOutcome(result, this.#reports.turned, this.#agent))
      case "drain":
        return this.#drained()
    }
  }

  #refused(purpose: Purpose, error: JsonObject): void {
    const fail = (otherwise: string) => {
      const evidence: AcpEvidence = {
        agent: this.#agent,
        prompted: purpose === "prompt",
        signIn: this.#signIn
      }
      return toAcpFailure(error, evidence, otherwise)
    }
    switch (purpose) {
      case "initialize":
        return this.#conclude({ _tag: "Failed", error: fail("protocol_broken") })
      case "session": {
        const { resumed } = this.#opening
        const failed =
          resumed && isUnknownSession(error)
            ? acpFailure("unknown_session", this.#agent)
            : fail(resumed ? "unknown_session" : "session_refused")
        return this.#conclude({ _tag: "Failed", error: failed })
      }
      case "mode":
        // The agent reports a mode that it is already in as a failure.
        if (/already in \S+ mode/i.test(errorText(error))) return this.#choose()
        return this.#conclude({ _tag: "Failed", error: fail("mode_refused") })
      case "model":
        return this.#conclude({ _tag: "Failed", error: fail("model_refused") })
      case "prompt": {
        const error = fail("agent_failed")
        this.#reports.answered({})
        return this.#turned(() => ({ _tag: "Failed", error }))
      }
      case "history":
        return this.#choose()
      case "drain":
        return this.#drained()
    }
  }

  #opened(session: JsonObject): void {
    const problem = this.#opening.opened(session)
    if (problem !== undefined) return this.#fail(problem)
    // Old messages may be told behind the answer that they belong before.
    if (this.#opening.resumed) this.#barrier("history")
    else this.#choose()
  }

  /** The next choice, or the prompt after the last. */
  #choose(): void {
    const next = this.#opening.next()
    if (next !== undefined) return this.#ask(next)
    if (this.#cancelling) return this.#conclude({ _tag: "Cancelled" })
    this.#collector.start(this.#opening.started)
    this.#prompt(this.#start.prompt)
  }

  #prompt(text: string): void {
    this.#denied = false
    this.#reports.begin()
    const { sessionId } = this.#opening
    this.#send("prompt", "session/prompt", { sessionId, prompt: [{ type: "text", text }] })
  }

  /** The turn is over; reports that belong to it may still come, the end of its last message too. */
  #turned(judge: () => Outcome): void {
    this.#judge = judge
    this.#barrier("drain")
  }

  /** What its own word leaves out: that it was cancelled, and that some agents stop where they are refused something. */
  #judged(outcome: Outcome): Outcome {
    if (this.#cancelling) return { _tag: "Cancelled", reason: "interrupted" }
    // Some agents stop at a denial, as cancelled or as if their turn were complete.
    const isLast = outcome._tag === "Completed" && this.#queued.length === 0
    const stopped = isLast && this.#reports.stoppedAtDenial
    return this.#denied && (stopped || outcome._tag === "Cancelled")
      ? { _tag: "Cancelled", reason: "it stopped because a permission was denied" }
      : outcome
  }

  /** Everything of the turn has been read: a message that waited begins the next one, or the run is over. */
  #drained(): void {
    const judge = this.#judge
    if (judge === undefined) return
    this.#judge = undefined
    this.#reports.close()
    const outcome = this.#judged(judge())
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

  #notified(method: string, params: JsonObject): void {
    switch (method) {
      case "session/update":
        return this.#reports.read(objectOf(params["update"]), this.#talking, this.#opening.mode)
      case "$/cancel_request":
        return this.#withdrawn(params["requestId"])
      case "_auth/status_update":
        this.#signIn = textOf(objectOf(params["authStatus"])["kind"])
        return
      default:
        return this.#unknown(method)
    }
  }

  /** A prompt is under way, or what belongs to it is still read. */
  get #talking(): boolean {
    return this.#awaited?.purpose === "prompt" || this.#awaited?.purpose === "drain"
  }

  /** Counts a method, unless it is one of the agent's own that are known to say nothing here, or of what we said we have not. */
  #unknown(method: string): void {
    const begins = (beginning: string) => method.startsWith(beginning)
    if (!["fs/", "terminal/"].some(begins) && this.#agent.ownMethods?.some(begins) !== true)
      this.#collector.countUnknown(method.slice(0, MAX_NAME))
  }

  #requested(id: JsonRpc.RpcId, method: string, params: JsonObject): void {
    if (method === "session/request_permission") return this.#asks(id, params)
    this.#unknown(method)
    const message = `${method.slice(0, MAX_NAME)} is not served: this client has no file system and no terminals.`
    this.#collector.emit({ _tag: "Reply", text: JsonRpc.rpcRefusal(id, JsonRpc.METHOD_NOT_FOUND, message) })
  }

  #asks(id: JsonRpc.RpcId, { options, toolCall }: JsonObject): void {
    if (this.#permissions.has(id)) return this.#collector.countUnknown("session/request_permission")
    const call = this.#reports.asked(objectOf(toolCall))
    if (call === undefined || !offersAllowOnce(options)) {
      this.#collector.countUnknown("session/request_permission")
      this.#collector.emit({ _tag: "Reply", text: JsonRpc.rpcAnswer(id, decisionOutcome(options, "deny")) })
      return
    }
    const key = this.#permissions.add({ id, options, callId: call.callId })
    this.#collector.requestApproval(key, toAcpApproval(call, options, this.#agent, this.#relative))
  }

  /** The agent no longer waits for an answer of ours, and gets one that decides nothing. */
  #withdrawn(requestId: unknown): void {
    const key = this.#permissions.keyOf(requestId)
    const asked = key === undefined ? undefined : this.#permissions.take(key)
    if (key === undefined || asked === undefined) return
    this.#collector.withdrawApproval(key, "the agent no longer waits for it")
    this.#collector.emit({
      _tag: "Reply",
      text: JsonRpc.rpcAnswer(asked.id, decisionOutcome(undefined, "cancel"))
    })
  }
}
