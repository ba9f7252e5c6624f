/**
 * One run's conversation with `codex app-server`: requests and responses in both directions, and the meaning of its notifications.
 *
 * The handshake has steps: initialize, then a thread (new or resumed), then one turn per user message. A run ends when every message has
 * had its turn. A further message waits for the end of the turn before it.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { Decision } from "@corral/domain/approval/Approval"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { JsonLines, type JsonLine } from "../text/JsonLines.ts"
import { relativeTo, type Relative } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toCodexQuestion } from "./Approvals.ts"
import { toCodexFailure, toRequestFailure, codexFailureAtExit } from "./CodexFailure.ts"
import { toCodexRetry } from "./Retries.ts"
import { measureDiff } from "./FileChanges.ts"
import {
  codexNotification,
  codexRefusal,
  codexRequest,
  codexResponse,
  turnInput,
  type CodexRequestId
} from "./Frames.ts"
import { Items } from "./Items.ts"
import { approvalPolicyOf, sandboxOf } from "./Modes.ts"
import { isSilent } from "./Notifications.ts"
import { readCodexSessionId } from "./SessionId.ts"
import { CodexUsage } from "./CodexUsage.ts"

const clientInfo = { name: "corral", title: "Corral", version: "1" }

type Purpose = "initialize" | "thread" | "turn"

interface PendingQuestion {
  readonly id: CodexRequestId
  /** From the agent itself, not from a sub-agent. */
  readonly isOwn: boolean
  readonly result: (decision: Decision) => object
}

/** Message id of one part of the reasoning. */
const partOf = (params: JsonObject, part: "summary" | "content"): string | undefined => {
  const [item, index] = [textOf(params["itemId"]), countOf(params[`${part}Index`])]
  return item === undefined || index === undefined ? undefined : `${item}:${part}:${index}`
}

const isRequestId = (id: unknown): id is CodexRequestId => typeof id === "string" || typeof id === "number"

export class AppServerProtocol implements Protocol {
  readonly open: string
  readonly #start: RunStart
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #items: Items
  readonly #usage = new CodexUsage()
  /** Our requests without a response. */
  readonly #pending = new Map<unknown, Purpose>()
  /** Codex's requests that wait for a decision, by key. */
  readonly #questions = new Map<string, PendingQuestion>()
  /** User messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  #relative: Relative
  #nextId = 0
  #threadId: string | undefined
  #turnId: string | undefined
  #endedTurnId: string | undefined
  #diff = ""
  #lastError: JsonObject | undefined

  constructor(start: RunStart) {
    this.#start = start
    this.#relative = relativeTo(start.workspacePath)
    this.#items = new Items(this.#collector, this.#relative)
    this.open = this.#request("initialize", { clientInfo }, "initialize")
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const failure =
      codexFailureAtExit(end) ?? (this.#lastError === undefined ? undefined : toCodexFailure(this.#lastError))
    if (failure === undefined) this.#collector.concludeAtExit("Codex", end)
    else this.#collector.fail(failure, this.#usage.usage)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason }) => {
    const question = this.#questions.get(key)
    if (question === undefined) return undefined
    this.#questions.delete(key)
    const response = codexResponse(question.id, question.result(decision))
    // A denial has no text. The reason follows as a message to the turn, which continues.
    return decision === "deny" && reason !== undefined && question.isOwn
      ? response + this.#steer(reason)
      : response
  }

  readonly input: Protocol["input"] = (text) => {
    if (this.#collector.isOver) return undefined
    this.#queued.push(text)
    return ""
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    this.#queued.length = 0
    const [threadId, turnId] = [this.#threadId, this.#turnId]
    if (threadId === undefined || turnId === undefined) return undefined
    return this.#request("turn/interrupt", { threadId, turnId })
  }

  #request(method: string, params: object, purpose?: Purpose): string {
    const id = this.#nextId++
    if (purpose !== undefined) this.#pending.set(id, purpose)
    return codexRequest(id, method, params)
  }

  /** The line that adds a message to the turn in progress; empty without such a turn. */
  #steer(text: string): string {
    const [threadId, expectedTurnId] = [this.#threadId, this.#turnId]
    if (threadId === undefined || expectedTurnId === undefined) return ""
    return this.#request("turn/steer", { threadId, expectedTurnId, input: turnInput(text) })
  }

  #reply(text: string): void {
    this.#collector.emit({ _tag: "Reply", text })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (message) => this.#readMessage(message))
  }

  #readMessage(message: JsonObject): void {
    const method = textOf(message["method"])
    const params = objectOf(message["params"])
    const { id } = message
    if (method === undefined)
      return isRequestId(id) ? this.#readResponse(id, message) : this.#collector.countUnknown("untyped")
    if (isRequestId(id)) return this.#readRequest(id, method, params)
    return this.#readNotification(method, params)
  }

  #readResponse(id: CodexRequestId, response: JsonObject): void {
    const purpose = this.#pending.get(id)
    if (purpose === undefined) return
    this.#pending.delete(id)
    if (isJsonObject(response["error"]))
      return this.#collector.fail(toRequestFailure(response["error"]), this.#usage.usage)
    const result = objectOf(response["result"])
    switch (purpose) {
      case "initialize":
        return this.#reply(codexNotification("initialized") + this.#openThread())
      case "thread":
        return this.#readThread(result)
      case "turn":
        this.#turnId ??= textOf(objectOf(result["turn"])["id"])
    }
  }

  #openThread(): string {
    const { isConfined, mode, model, resumeSessionId, workspacePath } = this.#start
    const settings = {
      cwd: workspacePath,
      approvalPolicy: approvalPolicyOf(mode),
      // A user, regardless of the configuration, which can set a model of Codex to decide.
      approvalsReviewer: "user",
      sandbox: sandboxOf(mode, isConfined),
      ...defined({ model })
    }
    return resumeSessionId === undefined
      ? this.#request("thread/start", settings, "thread")
      : this.#request("thread/resume", { threadId: resumeSessionId, ...settings }, "thread")
  }

  #readThread(result: JsonObject): void {
    const thread = objectOf(result["thread"])
    this.#threadId = textOf(thread["id"])
    const cwd = textOf(result["cwd"]) ?? textOf(thread["cwd"])
    if (cwd !== undefined && cwd !== "") {
      this.#relative = relativeTo(this.#start.workspacePath, cwd)
      this.#items.root(this.#relative)
    }
    this.#collector.start(
      defined({
        runtimeSessionId: readCodexSessionId(this.#threadId),
        runtimeVersion: textOf(thread["cliVersion"]),
        model: textOf(result["model"]),
        mode: textOf(result["approvalPolicy"])
      })
    )
    this.#startTurn(this.#start.prompt, this.#start.images)
  }

  /** Starts a turn with a user message. */
  #startTurn(text: string, images?: RunStart["images"]): void {
    const params = { threadId: this.#threadId ?? "", input: turnInput(text, images) }
    this.#reply(this.#request("turn/start", params, "turn"))
  }

  #readRequest(id: CodexRequestId, method: string, params: JsonObject): void {
    const question = toCodexQuestion(method, params, this.#relative, this.#items)
    if (question === undefined) {
      // The runtime would wait forever without a response.
      this.#collector.countUnknown(method)
      return this.#reply(codexRefusal(id, `${method} is not supported`))
    }
    const key = JSON.stringify(id)
    if (this.#collector.requestApproval(key, question.request))
      this.#questions.set(key, { id, isOwn: this.#isOwn(params), result: question.result })
  }

  #readNotification(method: string, params: JsonObject): void {
    switch (method) {
      case "item/agentMessage/delta":
        return this.#readDelta("text", textOf(params["itemId"]), params)
      case "item/reasoning/summaryTextDelta":
        return this.#readDelta("reasoning", partOf(params, "summary"), params)
      case "item/reasoning/textDelta":
        return this.#readDelta("reasoning", partOf(params, "content"), params)
      case "item/started":
        return this.#items.started(objectOf(params["item"]), this.#parentOf(params))
      case "item/completed":
        return this.#items.completed(objectOf(params["item"]), this.#parentOf(params))
      case "item/fileChange/patchUpdated":
        return this.#items.revise(textOf(params["itemId"]) ?? "", params["changes"])
      case "thread/tokenUsage/updated":
        return this.#readUsage(params)
      case "turn/started":
        if (this.#isOwn(params)) this.#turnId ??= textOf(objectOf(params["turn"])["id"])
        return
      case "turn/diff/updated":
        return this.#readDiff(params)
      case "turn/completed":
        return this.#isOwn(params) ? this.#endTurn(objectOf(params["turn"])) : undefined
      case "error":
        // A retried error is not a failure, and the parent reports errors of a sub-agent.
        if (!this.#isOwn(params)) return
        if (params["willRetry"] === true) this.#collector.emitEvent(toCodexRetry(objectOf(params["error"])))
        else this.#lastError = objectOf(params["error"])
        return
      case "serverRequest/resolved":
        return this.#withdrawApproval(params["requestId"])
      default:
        if (!isSilent(method)) this.#collector.countUnknown(method)
    }
  }

  /** The hot path: most lines of a run are deltas. */
  #readDelta(channel: "text" | "reasoning", messageId: string | undefined, params: JsonObject): void {
    const text = params["delta"]
    if (messageId === undefined || typeof text !== "string" || text === "") return
    const parentCallId = this.#parentOf(params)
    const delta = { messageId, channel, text }
    this.#collector.emitEvent(
      draft("run.message.delta", parentCallId === undefined ? delta : { ...delta, parentCallId })
    )
  }

  #isOwn(params: JsonObject): boolean {
    const thread = params["threadId"]
    return thread === undefined || thread === this.#threadId
  }

  #parentOf(params: JsonObject): string | undefined {
    const thread = params["threadId"]
    return typeof thread !== "string" || this.#isOwn(params) ? undefined : this.#items.parentOf(thread)
  }

  #readUsage(params: JsonObject): void {
    const thread = textOf(params["threadId"]) ?? ""
    const isOwn = this.#isOwn(params)
    const since = !isOwn || this.#start.resumeSessionId === undefined
    const usage = this.#usage.follow(
      thread,
      objectOf(params["tokenUsage"]),
      since,
      since || (this.#turnId !== undefined && params["turnId"] === this.#turnId)
    )
    if (usage !== undefined) this.#collector.emit({ _tag: "Usage", usage })
  }

  /** Reads the changes of the whole turn so far, which are printed again with each change. Only the last is emitted. */
  #readDiff(params: JsonObject): void {
    if (this.#isOwn(params)) this.#diff = textOf(params["diff"]) ?? ""
  }

  #emitDiff(): void {
    const patch = this.#diff
    this.#diff = ""
    if (patch !== "") this.#collector.emitEvent(draft("run.diff.ready", { ...measureDiff(patch), patch }))
  }

  #withdrawApproval(id: unknown): void {
    if (!isRequestId(id)) return
    const key = JSON.stringify(id)
    // Codex reports the answered requests, too.
    if (this.#questions.delete(key))
      this.#collector.withdrawApproval(key, "the runtime no longer waits for it")
  }

  #endTurn(turn: JsonObject): void {
    const id = textOf(turn["id"])
    // Ignore other turns, and a repeated end of this one.
    if (id !== undefined && (id === this.#endedTurnId || id !== (this.#turnId ?? id))) return
    this.#endedTurnId = id
    this.#emitDiff()
    this.#turnId = undefined
    const { usage } = this.#usage
    const used = defined({ usage })
    switch (turn["status"]) {
      case "completed": {
        const next = this.#queued.shift()
        if (next !== undefined) return this.#startTurn(next)
        const { lastText: text } = this.#items
        return this.#collector.conclude({ _tag: "Completed", ...used, ...defined({ text }) })
      }
      case "interrupted":
        return this.#collector.conclude({ _tag: "Cancelled", reason: "interrupted", ...used })
      default:
        return this.#collector.fail(
          toCodexFailure(isJsonObject(turn["error"]) ? turn["error"] : (this.#lastError ?? {})),
          usage
        )
    }
  }
}
