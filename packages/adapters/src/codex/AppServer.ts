/**
 * A conversation with `codex app-server`: requests and their answers both ways, and what its notifications mean.
 *
 * The handshake goes step by step: initialize, then a thread (a new one, or one to go on with), then a turn for each message. A run is
 * over when every message it was given has had its turn; a further one waits here for the end of the turn before it.
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
import { measured } from "./FileChanges.ts"
import {
  codexNotification,
  codexRefusal,
  codexRequest,
  codexResponse,
  textInput,
  type CodexRequestId
} from "./Frames.ts"
import { Items } from "./Items.ts"
import { approvalPolicyOf, sandboxOf } from "./Modes.ts"
import { isSilent } from "./Notifications.ts"
import { readCodexSessionId } from "./SessionId.ts"
import { CodexUsage } from "./CodexUsage.ts"

const clientInfo = { name: "corral", title: "Corral", version: "1" }

type Sent = "initialize" | "thread" | "turn"

interface Asked {
  readonly id: CodexRequestId
  /** Of the agent itself, not of a sub-agent. */
  readonly own: boolean
  readonly result: (decision: Decision) => object
}

/** The message of one part of the reasoning. */
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
  readonly #spending = new CodexUsage()
  /** Requests of ours that matter and are not answered yet. */
  readonly #sent = new Map<unknown, Sent>()
  /** Requests of theirs that wait, by key. */
  readonly #asked = new Map<string, Asked>()
  /** Messages that wait for the end of the turn. */
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
    this.#read(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#read(this.#lines.end())
    const failure =
      codexFailureAtExit(end) ?? (this.#lastError === undefined ? undefined : toCodexFailure(this.#lastError))
    if (failure === undefined) this.#collector.concludeAtExit("Codex", end)
    else this.#collector.fail(failure, this.#spending.usage)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason }) => {
    const asked = this.#asked.get(key)
    if (asked === undefined) return undefined
    this.#asked.delete(key)
    const said = codexResponse(asked.id, asked.result(decision))
    // A refusal has no text. The text follows as a message to the turn, which continues.
    return decision === "deny" && reason !== undefined && asked.own ? said + this.#steer(reason) : said
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

  #request(method: string, params: object, sent?: Sent): string {
    const id = this.#nextId++
    if (sent !== undefined) this.#sent.set(id, sent)
    return codexRequest(id, method, params)
  }

  /** Words to the turn that is under way; none where there is no such turn. */
  #steer(text: string): string {
    const [threadId, expectedTurnId] = [this.#threadId, this.#turnId]
    if (threadId === undefined || expectedTurnId === undefined) return ""
    return this.#request("turn/steer", { threadId, expectedTurnId, input: textInput(text) })
  }

  #reply(text: string): void {
    this.#collector.emit({ _tag: "Reply", text })
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#said(said))
  }

  #said(said: JsonObject): void {
    const method = textOf(said["method"])
    const params = objectOf(said["params"])
    const { id } = said
    if (method === undefined)
      return isRequestId(id) ? this.#answered(id, said) : this.#collector.countUnknown("untyped")
    if (isRequestId(id)) return this.#asks(id, method, params)
    return this.#notified(method, params)
  }

  #answered(id: CodexRequestId, said: JsonObject): void {
    const sent = this.#sent.get(id)
    if (sent === undefined) return
    this.#sent.delete(id)
    if (isJsonObject(said["error"]))
      return this.#collector.fail(toRequestFailure(said["error"]), this.#spending.usage)
    const result = objectOf(said["result"])
    switch (sent) {
      case "initialize":
        return this.#reply(codexNotification("initialized") + this.#openThread())
      case "thread":
        return this.#threadOpened(result)
      case "turn":
        this.#turnId ??= textOf(objectOf(result["turn"])["id"])
    }
  }

  #openThread(): string {
    const { mode, model, resumeSessionId, workspacePath } = this.#start
    const settings = {
      cwd: workspacePath,
      approvalPolicy: approvalPolicyOf(mode),
      // A person, whatever the configuration says: a model of Codex's own may be set to answer instead.
      approvalsReviewer: "user",
      sandbox: sandboxOf(mode),
      ...defined({ model })
    }
    return resumeSessionId === undefined
      ? this.#request("thread/start", settings, "thread")
      : this.#request("thread/resume", { threadId: resumeSessionId, ...settings }, "thread")
  }

  #threadOpened(result: JsonObject): void {
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
    this.#say(this.#start.prompt)
  }

  /** A message, and the turn that it begins. */
  #say(text: string): void {
    const params = { threadId: this.#threadId ?? "", input: textInput(text) }
    this.#reply(this.#request("turn/start", params, "turn"))
  }

  #asks(id: CodexRequestId, method: string, params: JsonObject): void {
    const question = toCodexQuestion(method, params, this.#relative, this.#items)
    if (question === undefined) {
      // No answer is possible here. Without a refusal the runtime would wait for ever.
      this.#collector.countUnknown(method)
      return this.#reply(codexRefusal(id, `${method} is not supported`))
    }
    const key = JSON.stringify(id)
    if (this.#collector.requestApproval(key, question.request))
      this.#asked.set(key, { id, own: this.#isOwn(params), result: question.result })
  }

  #notified(method: string, params: JsonObject): void {
    switch (method) {
      case "item/agentMessage/delta":
        return this.#streamed("text", textOf(params["itemId"]), params)
      case "item/reasoning/summaryTextDelta":
        return this.#streamed("reasoning", partOf(params, "summary"), params)
      case "item/reasoning/textDelta":
        return this.#streamed("reasoning", partOf(params, "content"), params)
      case "item/started":
        return this.#items.started(objectOf(params["item"]), this.#parentOf(params))
      case "item/completed":
        return this.#items.completed(objectOf(params["item"]), this.#parentOf(params))
      case "item/fileChange/patchUpdated":
        return this.#items.revise(textOf(params["itemId"]) ?? "", params["changes"])
      case "thread/tokenUsage/updated":
        return this.#spent(params)
      case "turn/started":
        if (this.#isOwn(params)) this.#turnId ??= textOf(objectOf(params["turn"])["id"])
        return
      case "turn/diff/updated":
        return this.#diffed(params)
      case "turn/completed":
        return this.#isOwn(params) ? this.#turnEnded(objectOf(params["turn"])) : undefined
      case "error":
        // One that is tried again is no failure; one of a sub-agent is its parent's business.
        if (!this.#isOwn(params)) return
        if (params["willRetry"] === true) this.#collector.emitEvent(toCodexRetry(objectOf(params["error"])))
        else this.#lastError = objectOf(params["error"])
        return
      case "serverRequest/resolved":
        return this.#resolved(params["requestId"])
      default:
        if (!isSilent(method)) this.#collector.countUnknown(method)
    }
  }

  /** The hot path: most lines of a run are deltas. */
  #streamed(channel: "text" | "reasoning", messageId: string | undefined, params: JsonObject): void {
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

  #spent(params: JsonObject): void {
    const thread = textOf(params["threadId"]) ?? ""
    const own = this.#isOwn(params)
    const since = !own || this.#start.resumeSessionId === undefined
    const usage = this.#spending.follow(
      thread,
      objectOf(params["tokenUsage"]),
      since,
      since || (this.#turnId !== undefined && params["turnId"] === this.#turnId)
    )
    if (usage !== undefined) this.#collector.emit({ _tag: "Usage", usage })
  }

  /** The changes of the whole turn so far, printed again with each change: the last of them is said, once. */
  #diffed(params: JsonObject): void {
    if (this.#isOwn(params)) this.#diff = textOf(params["diff"]) ?? ""
  }

  #sayDiff(): void {
    const patch = this.#diff
    this.#diff = ""
    if (patch !== "") this.#collector.emitEvent(draft("run.diff.ready", { ...measured(patch), patch }))
  }

  #resolved(id: unknown): void {
    if (!isRequestId(id)) return
    const key = JSON.stringify(id)
    // Codex reports the answered requests, too.
    if (this.#asked.delete(key)) this.#collector.withdrawApproval(key, "the runtime no longer waits for it")
  }

  #turnEnded(turn: JsonObject): void {
    const id = textOf(turn["id"])
    // Not another turn than the one that was begun, and none twice.
    if (id !== undefined && (id === this.#endedTurnId || id !== (this.#turnId ?? id))) return
    this.#endedTurnId = id
    this.#sayDiff()
    this.#turnId = undefined
    const { usage } = this.#spending
    const used = defined({ usage })
    switch (turn["status"]) {
      case "completed": {
        const next = this.#queued.shift()
        if (next !== undefined) return this.#say(next)
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
