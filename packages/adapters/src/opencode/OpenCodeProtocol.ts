/**
 * One run's conversation with a server of OpenCode, over the bridge (`runtime/opencode-bridge.mjs`).
 *
 * A turn ends when the session is idle. Sub-agents have sessions of their own, whose texts, calls and requests belong to the call that started
 * them. A sub-agent in the background is work: when it ends, OpenCode starts a turn. A further message waits for the end of the turn.
 */
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunFailure } from "@corral/domain/run/Run"
import type {
  AdapterOutput,
  Outcome,
  ProcessEnd,
  Protocol,
  RunStart
} from "@corral/domain/run/RuntimeAdapter"
import {
  type ProgramInfo,
  readSessionId,
  serviceFailure,
  startFailure,
  toProgramFailure
} from "../one-shot/OneShot.ts"
import { type JsonLine, JsonLines, LOST_REQUEST } from "../text/JsonLines.ts"
import { stepsOfList } from "../output/StepLists.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { toRetryEvent } from "../output/ServiceFailure.ts"
import { countOf, defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import * as Bridge from "./OpenCodeRequests.ts"
import { toOpenCodeAnswers, toOpenCodeApproval, toOpenCodeInput } from "./OpenCodeRequests.ts"
import { StepUsage, TextParts, ToolParts } from "./MessageParts.ts"
import { OpenCodeSessions } from "./OpenCodeSessions.ts"

/** Events of the server that say nothing about the run, or that others repeat. */
const silentGroups = new Set(
  "server plugin catalog integration reference models-dev installation project file lsp vcs mcp pty tui workspace worktree command global".split(
    " "
  )
)
const silentTypes = new Set([
  "session.updated",
  "session.diff",
  "session.deleted",
  "message.removed",
  "message.part.removed"
])

/** Whether a type is silent. The next version of the events is sent beside this one. */
const isSilent = (type: string): boolean =>
  silentTypes.has(type) ||
  silentGroups.has(type.slice(0, Math.max(0, type.indexOf(".")))) ||
  type.startsWith("session.next.") ||
  type.includes(".v2.")

const DENIED = "This was not allowed. Continue without it."

export class OpenCodeProtocol implements Protocol {
  readonly open: string
  readonly #program: ProgramInfo
  readonly #start: RunStart
  readonly #agent: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #sessions = new OpenCodeSessions()
  readonly #texts = new TextParts(this.#collector)
  readonly #tools: ToolParts
  /** Questions that wait for an answer. */
  readonly #questions = new Map<string, RequestedInput>()
  /** Messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  readonly #steps = new Set<string>()
  #version: string | undefined
  readonly #usage = new StepUsage()
  /** Model of the newest message of each session. */
  readonly #models = new Map<string, string>()
  /** Why the last step of the conversation finished. */
  #finish: string | undefined
  #error: RunFailure | "aborted" | undefined
  #cancelling = false
  /** Whether a turn is in progress. Its end is reported twice. */
  #isActive = false

  constructor(program: ProgramInfo, start: RunStart, agent: string) {
    this.#program = program
    this.#start = start
    this.#agent = agent
    this.#tools = new ToolParts(this.#collector, start.workspacePath)
    this.open = Bridge.openSession(start.resumeSessionId)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    this.#readEnd(end)
    this.#collector.concludeAtExit(this.#program.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason }) => {
    if (!this.#collector.takeAnswer(key)) return undefined
    if (decision === "allow") return Bridge.allowPermission(key)
    return Bridge.rejectPermission(key, decision === "cancel" ? undefined : (reason ?? DENIED))
  }

  readonly respond: Protocol["respond"] = (key, response) => {
    const request = this.#questions.get(key)
    if (request === undefined || !this.#collector.takeResponse(key)) return undefined
    this.#questions.delete(key)
    return this.#cancelling
      ? Bridge.rejectQuestion(key)
      : Bridge.answerQuestion(key, toOpenCodeAnswers(request, response))
  }

  readonly input: Protocol["input"] = (text) => {
    const session = this.#sessions.main
    if (this.#collector.isOver || this.#cancelling) return undefined
    if (session === undefined || !this.#collector.canStartTurn) {
      this.#queued.push(text)
      return ""
    }
    this.#collector.awaitTurn()
    return this.#promptOf(session, text)
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#collector.markCancelled()
    this.#queued.length = 0
    const session = this.#sessions.main
    return session === undefined ? undefined : Bridge.abortSession(session)
  }

  #promptOf(session: string, text: string, images: RunStart["images"] = []): string {
    return Bridge.sendPrompt(session, { text, images, model: this.#start.model, agent: this.#agent })
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(
      lines,
      (line) => this.#readLine(line),
      (head) => this.#readLost(head)
    )
  }

  /** Reads a line over the limit, of which only the first fields are known. */
  #readLost(head: JsonObject): void {
    const properties = objectOf(head["properties"])
    const id = textOf(properties["id"]) ?? ""
    switch (head["type"]) {
      case "bridge.response":
        return this.#readResponse(properties)
      case "permission.asked":
        return this.#reply(Bridge.rejectPermission(id, LOST_REQUEST))
      case "question.asked":
        return this.#reply(Bridge.rejectQuestion(id))
      case "message.part.updated":
        return this.#tools.closeLost(objectOf(properties["part"]))
    }
  }

  #reply(text: string): void {
    this.#collector.emit({ _tag: "Reply", text })
  }

  #readLine(line: JsonObject): void {
    const type = textOf(line["type"]) ?? "untyped"
    const properties = objectOf(line["properties"])
    const session = textOf(properties["sessionID"])
    switch (type) {
      case "bridge.response":
        return this.#readResponse(properties)
      case "session.created":
        return this.#sessions.add(objectOf(properties["info"]))
      case "session.error":
        return this.#readError(session, objectOf(properties["error"]))
    }
    if (isSilent(type)) return
    if (session === undefined || !this.#sessions.has(session)) {
      // A session that is not of this run.
      if (session === undefined) this.#collector.countUnknown(type)
      return
    }
    this.#readEvent(type, properties, session)
  }

  #readEvent(type: string, properties: JsonObject, session: string): void {
    const parentCallId = this.#sessions.parentCallOf(session)
    switch (type) {
      case "message.part.delta":
        return this.#texts.readDelta(properties, parentCallId)
      case "message.part.updated":
        return this.#readPart(objectOf(properties["part"]), session)
      case "message.updated":
        return this.#readMessage(objectOf(properties["info"]))
      case "session.status":
        return this.#readStatus(session, objectOf(properties["status"]))
      case "session.idle":
        return this.#readIdle(session)
      case "permission.asked":
        return this.#readPermission(properties, parentCallId)
      case "question.asked":
        return this.#readQuestion(properties, parentCallId)
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        return this.#withdraw(type, textOf(properties["requestID"]))
      case "todo.updated":
        return this.#collector.steps(stepsOfList(properties["todos"], "content"), parentCallId)
      case "session.compacted":
        return this.#collector.notice("compacted", "The conversation was summarized to free context.", {
          ...defined({ parentCallId })
        })
      default:
        this.#collector.countUnknown(type)
    }
  }

  #readResponse({ body, id, status }: JsonObject): void {
    const code = countOf(status) ?? 0
    if (id === Bridge.SESSION_REQUEST) return this.#openSession(code, objectOf(body))
    if (id !== Bridge.PROMPT_REQUEST || code < 400) return
    const message = textOf(objectOf(objectOf(body)["data"])["message"]) ?? JSON.stringify(body)
    this.#collector.fail(toProgramFailure(this.#program, "request_refused", message), this.#usage.usage)
  }

  #openSession(code: number, session: JsonObject): void {
    const id = readSessionId(session["id"])
    if (id === undefined || code >= 400) {
      const reason = this.#start.resumeSessionId === undefined ? "runtime_error" : "unknown_session"
      return this.#collector.fail(toProgramFailure(this.#program, reason, ""))
    }
    this.#sessions.open(id)
    this.#version = textOf(session["version"])
    const { images, prompt } = this.#start
    this.#reply(this.#promptOf(id, prompt, images))
  }

  /** Reads the description of a message. The first one of the conversation names its model and agent. */
  #readMessage(info: JsonObject): void {
    this.#texts.readMessage(info)
    const { modelID, providerID } = { ...info, ...objectOf(info["model"]) }
    const name = textOf(modelID)
    const model = name === undefined ? undefined : `${textOf(providerID) ?? ""}/${name}`
    const session = textOf(info["sessionID"])
    if (session !== undefined && model !== undefined) this.#models.set(session, model)
    if (!this.#sessions.isMain(session)) return
    this.#collector.start(
      defined({
        runtimeSessionId: this.#sessions.main,
        runtimeVersion: this.#version,
        model,
        mode: textOf(info["agent"])
      })
    )
  }

  #readPart(part: JsonObject, session: string): void {
    const parentCallId = this.#sessions.parentCallOf(session)
    switch (part["type"]) {
      case "text":
      case "reasoning":
        return this.#texts.read(part, parentCallId)
      case "tool":
        return this.#readTool(part, parentCallId)
      case "step-finish":
        return this.#readStep(part, session)
      // A part that others repeat, or of the program's own.
      case "step-start":
      case "snapshot":
      case "patch":
      case "file":
      case "agent":
      case "subtask":
      case "compaction":
      case "retry":
        return
      default:
        this.#collector.countUnknown(`part/${textOf(part["type"]) ?? ""}`)
    }
  }

  #readTool(part: JsonObject, parentCallId: string | undefined): void {
    const state = objectOf(part["state"])
    const metadata = objectOf(state["metadata"])
    const [callId, child] = [textOf(part["id"]), textOf(metadata["sessionId"])]
    if (callId !== undefined && child !== undefined) this.#sessions.link(child, callId)
    this.#tools.read(part, parentCallId)
    if (child !== undefined && metadata["background"] === true && state["status"] === "completed")
      this.#startWork(child)
  }

  /** Follows a sub-agent in the background that is working. */
  #startWork(session: string): void {
    const found = this.#sessions.busy.find(({ id }) => id === session)
    if (found === undefined) return
    const { id, parentCallId, title } = found
    this.#collector.startWork({ id, kind: "agent", title, ...defined({ parentCallId }) })
  }

  #readStep(part: JsonObject, session: string): void {
    const id = textOf(part["id"]) ?? ""
    if (this.#steps.has(id)) return
    this.#steps.add(id)
    if (this.#sessions.isMain(session)) this.#finish = textOf(part["reason"])
    this.#collector.emit({ _tag: "Usage", ...this.#usage.add(part, this.#models.get(session)) })
  }

  #readStatus(session: string, status: JsonObject): void {
    switch (status["type"]) {
      case "idle":
        return this.#readIdle(session)
      case "retry":
        return this.#collector.emitEvent(
          toRetryEvent({
            attempt: status["attempt"],
            failure: serviceFailure(this.#program, textOf(status["message"]) ?? "")
          })
        )
      case "busy":
        return this.#readBusy(session)
      default:
        this.#collector.countUnknown(`status/${textOf(status["type"]) ?? ""}`)
    }
  }

  #readBusy(session: string): void {
    this.#sessions.setBusy(session, true)
    if (!this.#sessions.isMain(session)) return
    this.#isActive = true
    if (!this.#collector.isIdle) return
    this.#texts.startTurn()
    this.#finish = undefined
    this.#error = undefined
    this.#collector.startTurn()
  }

  /** Reads the end of a session's turn. */
  #readIdle(session: string): void {
    this.#sessions.setBusy(session, false)
    if (!this.#sessions.isMain(session)) return this.#collector.endWork(session, "completed", true)
    if (!this.#isActive) return
    this.#isActive = false
    const next = this.#error === undefined ? this.#queued.shift() : undefined
    if (next !== undefined) return this.#reply(this.#promptOf(session, next))
    if (!this.#cancelling) for (const { id } of this.#sessions.busy) this.#startWork(id)
    this.#collector.endTurn(this.#outcome())
  }

  #outcome(): Outcome {
    const { usage } = this.#usage
    if (this.#cancelling || this.#error === "aborted")
      return { _tag: "Cancelled", reason: "interrupted", usage }
    if (this.#error !== undefined) return { _tag: "Failed", error: this.#error, usage }
    if (this.#finish === "length")
      return { _tag: "Failed", error: toProgramFailure(this.#program, "output_limit", ""), usage }
    return { _tag: "Completed", usage, ...defined({ text: this.#texts.last }) }
  }

  #readError(session: string | undefined, error: JsonObject): void {
    if (session !== undefined && !this.#sessions.isMain(session)) return
    this.#error = this.#errorOf(error)
  }

  #errorOf(error: JsonObject): RunFailure | "aborted" {
    const data = objectOf(error["data"])
    const name = textOf(error["name"]) ?? ""
    const message = textOf(data["message"]) ?? name
    switch (name) {
      case "MessageAbortedError":
        return "aborted"
      case "ProviderAuthError":
        return toProgramFailure(this.#program, "not_signed_in", message)
      case "MessageOutputLengthError":
        return toProgramFailure(this.#program, "output_limit", message)
      default:
        return serviceFailure(this.#program, message, countOf(data["statusCode"]))
    }
  }

  #readPermission(request: JsonObject, parentCallId: string | undefined): void {
    const key = textOf(request["id"])
    if (key === undefined) return this.#collector.countUnknown("permission.asked")
    const callId = this.#tools.idOf(request["tool"])
    const call = callId === undefined ? undefined : this.#tools.get(callId)
    this.#collector.requestApproval(
      key,
      toOpenCodeApproval(request, { callId, parentCallId, call }, this.#tools.relative)
    )
  }

  #readQuestion(request: JsonObject, parentCallId: string | undefined): void {
    const key = textOf(request["id"])
    if (key === undefined) return this.#collector.countUnknown("question.asked")
    const input = toOpenCodeInput(request["questions"], this.#tools.idOf(request["tool"]), parentCallId)
    if (this.#collector.requestInput(key, input)) this.#questions.set(key, input)
  }

  /** A request that ended without an answer of ours, such as the others of a session after one was rejected. */
  #withdraw(type: string, key: string | undefined): void {
    if (key === undefined) return
    if (type === "permission.replied")
      this.#collector.withdrawApproval(key, "the runtime no longer waits for it")
    else if (this.#questions.delete(key)) this.#collector.withdrawInput(key, "withdrawn")
  }

  #readEnd(end: ProcessEnd): void {
    if (this.#collector.isOver || this.#collector.isIdle) return
    const reason = startFailure(end)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#program, reason, end.stderr))
    else if (this.#error !== undefined && this.#error !== "aborted")
      this.#collector.fail(this.#error, this.#usage.usage)
  }
}
