/**
 * One run's conversation with `codex app-server`: requests and responses in both directions, and the meaning of its notifications.
 *
 * The handshake has steps: initialize, then a thread (new or resumed), then one turn per user message. A further message waits for the end of the
 * turn before it, and starts a turn if there is none. Sub-agents, commands and goals continue after a turn. A goal starts turns by itself.
 */
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { type JsonObject, countOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import { type JsonLine, JsonLines } from "../text/JsonLines.ts"
import { type Relative, relativeTo } from "../files/RelativePath.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import {
  ClientRequests,
  codexNotification,
  type CodexRequestId,
  isRequestId,
  lostItem,
  readCodexSessionId
} from "./Frames.ts"
import { codexFailureAtExit, toRequestFailure } from "./CodexFailure.ts"
import { type ItemOrigin, Items, codexSteps } from "./Items.ts"
import { type CodexNotice, isIgnored, isNotice, noticeOf, noticeOfItem } from "./Notifications.ts"
import { Requests } from "./Requests.ts"
import { SubAgents, Threads } from "./Threads.ts"
import { CodexTurns } from "./CodexTurns.ts"
import { CodexUsage } from "./CodexUsage.ts"
import type { WorkOutput } from "../output/OpenOutputs.ts"
import { titleLine } from "../text/FirstLine.ts"

// Notices of one run, each once: threads repeat their warnings. A compaction is repeated in other turns.
//
// Guarantees: a notice before the start of the run follows it.

interface NoticePlace {
  readonly turn?: string
  /** The call that started the sub-agent of the notice. */
  readonly parent?: string
}

class NoticeLog {
  readonly #collector: OutputCollector
  readonly #emitted = new Set<string>()
  /** Notices before the start; `undefined` after it. */
  #early: Array<CodexNotice> | undefined = []

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The run has started. */
  start(): void {
    const early = this.#early ?? []
    this.#early = undefined
    for (const notice of early) this.emit(notice)
  }

  emit(notice: CodexNotice | undefined, { parent, turn = "" }: NoticePlace = {}): void {
    if (notice === undefined) return
    if (this.#early !== undefined) return void this.#early.push(notice)
    const { data, kind, text } = notice
    const key = kind === "compacted" ? `${text} ${turn}` : text
    if (this.#emitted.has(key)) return
    this.#emitted.add(key)
    this.#collector.notice(kind, text, defined({ data, parentCallId: parent }))
  }
}

// Goals that Codex follows by itself: it starts turns until the goal is reached, blocked, or stopped by a limit.

const goalIdOf = (params: JsonObject): string => `goal:${textOf(params["threadId"]) ?? ""}`

const states: Readonly<Record<string, WorkOutput["state"]>> = {
  active: "running",
  complete: "completed",
  blocked: "failed",
  usageLimited: "failed",
  budgetLimited: "failed",
  paused: "stopped"
}

/** Work of `thread/goal/updated`. A status of a later version is an end: it would wait forever otherwise. */
const workOfGoal = (params: JsonObject): Omit<WorkOutput, "_tag"> => {
  const { objective, status } = objectOf(params["goal"])
  return {
    id: goalIdOf(params),
    kind: "goal",
    title: titleLine(textOf(objective) ?? "Goal"),
    state: states[textOf(status) ?? ""] ?? "stopped"
  }
}

/** Work of `thread/goal/cleared`. */
const workOfClearedGoal = (params: JsonObject): Omit<WorkOutput, "_tag"> => ({
  id: goalIdOf(params),
  kind: "goal",
  title: "Goal",
  state: "stopped"
})

/** Message id of one part of the reasoning. */
const partOf = (params: JsonObject, part: "summary" | "content"): string | undefined => {
  const [item, index] = [textOf(params["itemId"]), countOf(params[`${part}Index`])]
  return item === undefined || index === undefined ? undefined : `${item}:${part}:${index}`
}

export class AppServerProtocol implements Protocol {
  readonly open: string
  readonly #start: RunStart
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #threads = new Threads()
  readonly #subAgents = new SubAgents(this.#collector)
  readonly #items: Items
  readonly #requests: Requests
  readonly #turns: CodexTurns
  readonly #usage = new CodexUsage()
  readonly #client: ClientRequests
  readonly #notices = new NoticeLog(this.#collector)
  #relative: Relative

  constructor(start: RunStart) {
    this.#start = start
    this.#relative = relativeTo(start.workspacePath)
    this.#items = new Items(this.#collector, this.#relative, this.#subAgents)
    this.#client = new ClientRequests(start, this.#threads)
    this.#requests = new Requests({
      collector: this.#collector,
      items: this.#items,
      steer: (thread, text) => this.#client.steer(thread, text),
      startTurn: (text) => this.#turns.request(text)
    })
    this.#turns = new CodexTurns({
      collector: this.#collector,
      threads: this.#threads,
      items: this.#items,
      subAgents: this.#subAgents,
      requests: this.#requests,
      client: this.#client,
      usage: this.#usage,
      isPlanning: start.mode === "plan"
    })
    this.open = this.#client.initialize()
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const failure = codexFailureAtExit(end) ?? this.#turns.failure
    if (failure === undefined || this.#collector.isIdle) this.#collector.concludeAtExit("Codex", end)
    else this.#collector.fail(failure, this.#usage.usage)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, answer) => this.#requests.answer(key, answer)

  readonly respond: NonNullable<Protocol["respond"]> = (key, response) =>
    this.#requests.respond(key, response)

  readonly input: Protocol["input"] = (text) => (this.#collector.isOver ? undefined : this.#turns.add(text))

  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    this.#turns.dropQueued()
    return this.#client.interrupt()
  }

  #reply(text: string): void {
    this.#collector.emit({ _tag: "Reply", text })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(
      lines,
      (message) => this.#readMessage(message),
      (head) => this.#readLost(head)
    )
  }

  #readMessage(message: JsonObject): void {
    const method = textOf(message["method"])
    const params = objectOf(message["params"])
    const { id } = message
    if (method === undefined)
      return isRequestId(id) ? this.#readResponse(id, message) : this.#collector.countUnknown("untyped")
    if (!isRequestId(id)) return this.#readNotification(method, params)
    const origin = this.#originOf(params)
    return this.#requests.read(id, method, params, origin, this.#relative)
  }

  /** Reads a line over the limit, of which only the first fields are known. */
  #readLost(head: JsonObject): void {
    const method = textOf(head["method"])
    const params = objectOf(head["params"])
    const { id } = head
    if (isRequestId(id))
      return method === undefined ? this.#readResponse(id, head) : this.#requests.decline(id, method)
    switch (method) {
      case "item/started":
      case "item/completed":
        return this.#readNotification(method, { ...params, item: lostItem(objectOf(params["item"])) })
      case "item/fileChange/patchUpdated":
        return this.#items.revise(textOf(params["itemId"]) ?? "", undefined)
      case "turn/completed":
        return this.#turns.askForEnd(this.#threads.threadOf(params), "idle")
      case "turn/started":
        return this.#readNotification(method, params)
    }
  }

  #readResponse(id: CodexRequestId, response: JsonObject): void {
    const purpose = this.#client.take(id)
    if (purpose === undefined) return
    const result = objectOf(response["result"])
    if (purpose._tag === "end") return this.#turns.readEnd(purpose, result)
    if (isJsonObject(response["error"]))
      return this.#collector.fail(toRequestFailure(response["error"]), this.#usage.usage)
    switch (purpose._tag) {
      case "initialize":
        return this.#reply(codexNotification("initialized") + this.#client.openThread())
      case "thread":
        return this.#readThread(result)
      case "turn":
        return this.#turns.readStart(this.#threads.agentThread ?? "", result["turn"])
    }
  }

  #readThread(result: JsonObject): void {
    const thread = objectOf(result["thread"])
    this.#threads.agentThread = textOf(thread["id"])
    const cwd = textOf(result["cwd"]) ?? textOf(thread["cwd"])
    if (cwd !== undefined && cwd !== "") {
      this.#relative = relativeTo(this.#start.workspacePath, cwd)
      this.#items.root(this.#relative)
    }
    this.#collector.start(
      defined({
        runtimeSessionId: readCodexSessionId(this.#threads.agentThread),
        runtimeVersion: textOf(thread["cliVersion"]),
        model: textOf(result["model"]),
        mode: textOf(result["approvalPolicy"])
      })
    )
    this.#notices.start()
    this.#turns.requestFirst(result)
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
        return this.#items.started(objectOf(params["item"]), this.#originOf(params))
      case "item/completed":
        return this.#completeItem(objectOf(params["item"]), params)
      case "item/fileChange/patchUpdated":
        return this.#items.revise(textOf(params["itemId"]) ?? "", params["changes"])
      case "turn/plan/updated":
        return this.#collector.steps(codexSteps(params["plan"]), this.#originOf(params).parent)
      case "thread/tokenUsage/updated":
        return this.#readUsage(params)
      case "turn/started":
        return this.#turns.readStart(this.#threads.threadOf(params), params["turn"])
      case "turn/diff/updated":
        return this.#turns.readDiff(params)
      case "turn/completed":
        return this.#turns.end(this.#threads.threadOf(params), objectOf(params["turn"]))
      case "thread/status/changed":
        return this.#turns.askForEnd(this.#threads.threadOf(params), objectOf(params["status"])["type"])
      case "thread/closed":
        return this.#turns.askForEnd(this.#threads.threadOf(params), "closed")
      case "thread/goal/updated":
        return this.#collector.work(workOfGoal(params))
      case "thread/goal/cleared":
        return this.#collector.work(workOfClearedGoal(params))
      case "error":
        return this.#turns.readError(params)
      case "serverRequest/resolved":
        return this.#requests.resolved(params["requestId"])
      default:
        this.#usage.readNotice(method, params, this.#threads.threadOf(params))
        if (isNotice(method)) this.#notices.emit(noticeOf(method, params), this.#placeOf(params))
        else if (!isIgnored(method)) this.#collector.countUnknown(method)
    }
  }

  /** The hot path: most lines of a run are deltas. */
  #readDelta(channel: "text" | "reasoning", messageId: string | undefined, params: JsonObject): void {
    const text = params["delta"]
    if (messageId === undefined || typeof text !== "string" || text === "") return
    const parentCallId = this.#originOf(params).parent
    const delta = { messageId, channel, text }
    this.#collector.emitEvent(
      draft("run.message.delta", parentCallId === undefined ? delta : { ...delta, parentCallId })
    )
  }

  #originOf(params: JsonObject): ItemOrigin {
    const thread = this.#threads.threadOf(params)
    return this.#threads.isOwn(thread) ? { thread } : { thread, parent: this.#subAgents.parentOf(thread) }
  }

  #placeOf(params: JsonObject) {
    return defined({ turn: textOf(params["turnId"]), parent: this.#originOf(params).parent })
  }

  #completeItem(item: JsonObject, params: JsonObject): void {
    const origin = this.#originOf(params)
    this.#notices.emit(noticeOfItem(item), this.#placeOf(params))
    this.#usage.readItem(item)
    if (origin.parent !== undefined || this.#turns.readItem(item)) this.#items.completed(item, origin)
  }

  #readUsage(params: JsonObject): void {
    const thread = this.#threads.threadOf(params)
    const since = !this.#threads.isOwn(thread) || this.#start.resumeSessionId === undefined
    const turn = this.#threads.turnOf(thread)
    const report = this.#usage.follow(
      thread,
      objectOf(params["tokenUsage"]),
      since,
      since || (turn !== undefined && params["turnId"] === turn)
    )
    if (report !== undefined) this.#collector.emit({ _tag: "Usage", ...report })
  }
}
