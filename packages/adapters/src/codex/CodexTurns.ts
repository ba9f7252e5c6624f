/**
 * Turns of a run of Codex: what starts and ends one, the messages that wait for its end, and the outcome of the agent's own turns.
 *
 * A turn of a sub-agent has no outcome. Its thread works, then rests.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { Outcome } from "@corral/domain/run/RuntimeAdapter"
import type { RunFailure } from "@corral/domain/run/Run"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { type JsonObject, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { ClientRequests, RequestPurpose } from "./Frames.ts"
import { toCodexFailure, toCodexRetry } from "./CodexFailure.ts"
import type { CodexUsage } from "./CodexUsage.ts"
import { measureDiff } from "./Tools.ts"
import type { Items } from "./Items.ts"
import type { Requests } from "./Requests.ts"
import type { SubAgents, Threads } from "./Threads.ts"
import type { Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { planRequest, questionsInMessage, requestOfMessages } from "./Questions.ts"

// What the agent leaves to the user at the end of a turn: its plan in the plan mode, or questions in its messages.
//
// Guarantees: a plan that is not handed over is a message, and no question of the turn is left out.

interface Handover {
  readonly item: string
  readonly request: RequestedInput
}

class TurnEnd {
  readonly #items: Items
  readonly #isPlanMode: boolean
  #plan: JsonObject | undefined
  #questions: ReadonlyArray<Question> = []
  /** The last message with a question. */
  #message = ""

  constructor(items: Items, isPlanMode: boolean) {
    this.#items = items
    this.#isPlanMode = isPlanMode
  }

  /** Reads an item of the agent itself that is complete. Returns false for a plan, which is not a message yet. */
  read(item: JsonObject): boolean {
    const questions = questionsInMessage(item)
    if (questions.length > 0) this.#message = textOf(item["id"]) ?? ""
    this.#questions = [...this.#questions, ...questions]
    if (!this.#isPlanMode || item["type"] !== "plan") return true
    this.discard()
    this.#plan = item
    return false
  }

  /** The turn has ended for another reason, or another plan follows. */
  discard(): void {
    if (this.#plan !== undefined) this.#items.completed(this.#plan)
    this.#plan = undefined
    this.#questions = []
  }

  /** Takes what waits for the user. */
  take(): Handover | undefined {
    const [plan, request] = [this.#plan, requestOfMessages(this.#questions)]
    this.#plan = undefined
    this.#questions = []
    const text = textOf(plan?.["text"])
    if (text !== undefined) return { item: textOf(plan?.["id"]) ?? "", request: planRequest(text) }
    return request === undefined ? undefined : { item: this.#message, request }
  }
}

/** Parts of the conversation that turns change. */
export interface TurnsHost {
  readonly collector: OutputCollector
  readonly threads: Threads
  readonly items: Items
  readonly subAgents: SubAgents
  readonly requests: Requests
  readonly client: ClientRequests
  readonly usage: CodexUsage
  /** Whether the run is in the mode `plan`. */
  readonly isPlanning: boolean
}

export class CodexTurns {
  readonly #host: TurnsHost
  readonly #turnEnd: TurnEnd
  /** User messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  /** Whether a turn was requested that has not started. */
  #isRequested = false
  #diff = ""
  #lastError: JsonObject | undefined

  constructor(host: TurnsHost) {
    this.#host = host
    this.#turnEnd = new TurnEnd(host.items, host.isPlanning)
  }

  /** A further user message: a line for Codex, empty if the message waits. */
  add(text: string): string {
    if (this.#host.collector.isIdle && !this.#isRequested) return this.request(text)
    this.#queued.push(text)
    return ""
  }

  dropQueued(): void {
    this.#queued.length = 0
  }

  /** The line that starts a turn with a user message. */
  request(text: string): string {
    this.#isRequested = true
    return this.#host.client.startTurn(text)
  }

  /** Starts the first turn, in the thread that was opened. */
  requestFirst(thread: JsonObject): void {
    this.#isRequested = true
    this.#reply(this.#host.client.startFirstTurn(thread))
  }

  /** Failure of the agent's own turn that Codex reported, if the process ends now. */
  get failure(): RunFailure | undefined {
    return this.#lastError === undefined ? undefined : toCodexFailure(this.#lastError)
  }

  /** Reads an item of the agent itself that is complete. Returns false for a plan, which is not a message yet. */
  readItem(item: JsonObject): boolean {
    return this.#turnEnd.read(item)
  }

  #reply(text: string): void {
    this.#host.collector.emit({ _tag: "Reply", text })
  }

  /** A retried error is not a failure, and the parent reports errors of a sub-agent. */
  readError(params: JsonObject): void {
    if (!this.#host.threads.isOwn(this.#host.threads.threadOf(params))) return
    const error = objectOf(params["error"])
    if (params["willRetry"] === true) this.#host.collector.emitEvent(toCodexRetry(error))
    else this.#lastError = error
  }

  /** Reads the changes of the whole turn so far, which are printed again with each change. Only the last is emitted. */
  readDiff(params: JsonObject): void {
    if (this.#host.threads.isOwn(this.#host.threads.threadOf(params)))
      this.#diff = textOf(params["diff"]) ?? ""
  }

  #emitDiff(): void {
    const patch = this.#diff
    this.#diff = ""
    if (patch !== "")
      this.#host.collector.emitEvent(draft("run.diff.ready", { ...measureDiff(patch), patch }))
  }

  readStart(thread: string, turn: unknown): void {
    if (!this.#host.threads.start(thread, turn)) return
    if (!this.#host.threads.isOwn(thread)) return this.#host.subAgents.works(thread)
    this.#lastError = undefined
    // First the turn, which discards the outcome of the turn before. Without a question that outcome would count.
    if (this.#host.collector.isIdle)
      this.#host.collector.startTurn(this.#isRequested ? { by: "message" } : {})
    this.#isRequested = false
    this.#host.requests.withdrawTurnQuestions()
  }

  /**
   * A thread rests, although the end of its turn was not reported. The end follows immediately if it was not lost. Otherwise the response says how
   * the turn ended.
   */
  askForEnd(thread: string, status: unknown): void {
    const request = status === "active" ? undefined : this.#host.client.askForEnd(thread, status)
    if (request !== undefined) this.#reply(request)
  }

  /** A version without the request, or a closed thread, has no answer: the turn ends as the thread's status says. */
  readEnd(
    { status, thread, turn }: Extract<RequestPurpose, { readonly _tag: "end" }>,
    result: JsonObject
  ): void {
    const [newest] = Array.isArray(result["data"]) ? result["data"].filter(isJsonObject) : []
    if (newest?.["id"] !== turn)
      this.end(thread, { id: turn, status: status === "idle" ? "completed" : "failed" })
    else if (newest["status"] !== "inProgress") this.end(thread, newest)
  }

  end(thread: string, turn: JsonObject): void {
    if (!this.#host.threads.end(thread, textOf(turn["id"]))) return
    const isCompleted = turn["status"] === "completed"
    if (this.#host.threads.isOwn(thread)) return this.#endOwnTurn(turn)
    this.#host.items.turnEnded(thread, isCompleted ? "failed" : "cancelled")
    this.#host.subAgents.rests(
      thread,
      isCompleted ? "completed" : turn["status"] === "interrupted" ? "stopped" : "failed"
    )
  }

  #endOwnTurn(turn: JsonObject): void {
    this.#emitDiff()
    const next = turn["status"] === "completed" ? this.#queued.shift() : undefined
    const handover = turn["status"] === "completed" && next === undefined ? this.#turnEnd.take() : undefined
    this.#turnEnd.discard()
    const outcome = this.#outcomeOf(turn, handover?.request.plan)
    if (outcome._tag === "Cancelled") return this.#host.collector.conclude(outcome)
    this.#host.items.turnEnded(this.#host.threads.agentThread ?? "", "failed")
    if (next !== undefined) {
      this.#host.collector.startTurn({ by: "message", ended: outcome })
      return this.#reply(this.request(next))
    }
    if (handover !== undefined) this.#host.requests.askForTurn(handover.item, handover.request)
    this.#host.collector.endTurn(outcome)
  }

  #outcomeOf(turn: JsonObject, plan: string | undefined): Outcome {
    const { usage } = this.#host.usage
    const used = defined({ usage })
    switch (turn["status"]) {
      case "completed":
        return { _tag: "Completed", ...used, ...defined({ text: plan ?? this.#host.items.lastText }) }
      case "interrupted":
        return { _tag: "Cancelled", reason: "interrupted", ...used }
      default: {
        const error = toCodexFailure(isJsonObject(turn["error"]) ? turn["error"] : (this.#lastError ?? {}))
        return { _tag: "Failed", error, ...used }
      }
    }
  }
}
