/**
 * One run's conversation with Qwen Code. Its frames are Claude Code's, with its own ids of messages, tools, results and errors.
 *
 * Permissions of sub-agents do not reach this protocol: in the background they are refused, in the foreground the program waits for ever. So a
 * sub-agent is refused, unless it is only offered tools that read. A result comes after the sub-agents of a turn. A command in the background
 * continues after it, and its end is not reported: it is work until a person finishes the run. A monitor starts a turn.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type {
  AdapterEvent,
  AdapterOutput,
  ModelCall,
  Outcome,
  Protocol,
  RunStart
} from "@corral/domain/run/RuntimeAdapter"
import type { Step } from "@corral/domain/run/Work"
import {
  controlRefusal,
  controlRequest,
  controlResponse,
  readLostLine,
  userMessage
} from "../claude-code/Frames.ts"
import type { WorkEnding } from "../output/OpenOutputs.ts"
import { arrayOf, countOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { type JsonLine, JsonLines, LOST_RESULT } from "../text/JsonLines.ts"
import { Calls, fileEventsOfCall } from "../one-shot/Tools.ts"
import {
  type ProgramInfo,
  type Reason,
  readSessionId,
  serviceFailure,
  startFailure,
  toProgramFailure
} from "../one-shot/OneShot.ts"
import { toRetryEvent } from "../output/ServiceFailure.ts"
import { stepStateOf } from "../output/StepLists.ts"
import { OutputCollector } from "../output/OutputCollector.ts"
import { QwenInputs, toQwenApproval } from "./QwenRequests.ts"

/** The message that is streamed now, and the number of its blocks so far. */
interface Streaming {
  readonly messageId: string
  blocks: number
}

/** Longest time that the program waits for a decision or an answer, in milliseconds. By default it waits a minute, then it continues without. */
const LONGEST_WAIT_MS = 600_000

const initialize = `${JSON.stringify({
  type: "control_request",
  request_id: "initialize",
  request: { subtype: "initialize", hooks: null, timeout: { canUseTool: LONGEST_WAIT_MS } }
})}\n`

const BACKGROUND_SHELL = /^Background shell (\S{1,100}) started\b/

const endings: ReadonlyMap<string, WorkEnding> = new Map([
  ["completed", "completed"],
  ["cancelled", "stopped"],
  ["killed", "stopped"]
])

const NO_SUB_AGENT = "A sub-agent can't ask for permissions here. Do the work without one."

const CREATED = "Successfully created and wrote to new file"

const exitCodeOf = (output: string | undefined): number | undefined => {
  const code = /^Exit Code: (\d{1,3})$/m.exec(output ?? "")?.[1]
  return code === undefined ? undefined : Number(code)
}

const outputOf = (content: unknown): string | undefined =>
  textOf(content) ??
  (Array.isArray(content)
    ? content.flatMap((block) => textOf(objectOf(block)["text"]) ?? []).join("\n")
    : undefined)

/** Why the program ended without a result, from its stderr. */
const reasonIn = (stderr: string): Reason | undefined => {
  if (/^No saved session found with ID /m.test(stderr)) return "unknown_session"
  return /Unknown argument/.test(stderr) ? "bad_option" : undefined
}

export class QwenProtocol implements Protocol {
  readonly open: string
  readonly #program: ProgramInfo
  /** Whether the model is offered only tools that need no permission. */
  readonly #isReadOnly: boolean
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  readonly #calls: Calls
  /** Messages that are streamed now, by the call of the sub-agent (`""` for the agent itself). */
  readonly #streaming = new Map<string, Streaming>()
  /** Inputs that an approval allows, by request id. */
  readonly #waitingInputs = new Map<string, JsonObject>()
  readonly #inputs = new QwenInputs(this.#collector)
  /** Messages that wait for the end of the turn. */
  readonly #queued: Array<string> = []
  #usage: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 }
  #cancelling = false

  constructor(program: ProgramInfo, { images, mode, prompt, workspacePath }: RunStart) {
    this.#program = program
    this.#isReadOnly = mode === "read_only" || mode === "plan"
    this.#calls = new Calls(this.#collector, workspacePath)
    this.open = initialize + userMessage(prompt, images)
  }

  readonly step: Protocol["step"] = (chunk) =>
    this.#readLines(this.#collector.isOver ? [] : this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    if (this.#collector.isOver) return []
    const outputs = this.#readLines(this.#lines.end())
    const reason = startFailure(end) ?? reasonIn(end.stderr)
    if (reason !== undefined) this.#collector.fail(toProgramFailure(this.#program, reason, end.stderr))
    this.#collector.concludeAtExit(this.#program.label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision, reason, updatedInput }) => {
    const input = this.#waitingInputs.get(key)
    if (input === undefined || !this.#collector.takeAnswer(key)) return undefined
    this.#waitingInputs.delete(key)
    // Edited input is not verified: the runtime might execute something else.
    if (decision === "allow" && updatedInput === undefined)
      return controlResponse(key, { behavior: "allow", updatedInput: input })
    const edited = updatedInput === undefined ? undefined : "An edited input is not supported."
    const message = edited ?? reason ?? "This was not allowed. Continue without it."
    return controlResponse(key, { behavior: "deny", message })
  }

  readonly respond: Protocol["respond"] = (key, response) => this.#inputs.respond(key, response)

  readonly input: Protocol["input"] = (text) => {
    if (this.#collector.isOver || this.#cancelling) return undefined
    if (!this.#collector.canStartTurn) {
      this.#queued.push(text)
      return ""
    }
    this.#collector.awaitTurn()
    return userMessage(text)
  }

  readonly cancel: Protocol["cancel"] = () => {
    this.#cancelling = true
    this.#queued.length = 0
    this.#collector.markCancelled()
    return controlRequest("interrupt", "interrupt")
  }

  #readLines(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(
      lines,
      (line) => this.#readLine(line),
      (head) => this.#readLost(head)
    )
  }

  #readLost(head: JsonObject): void {
    readLostLine(head, {
      reply: (text) => this.#collector.emit({ _tag: "Reply", text }),
      open: ({ id, input, name }, parentCallId) =>
        this.#calls.call(textOf(id), textOf(name), input, parentCallId),
      close: (callId) => this.#closeLost(callId),
      result: (line) => this.#readResult(line)
    })
  }

  #closeLost(callId: string): void {
    this.#inputs.closeCall(callId)
    this.#calls.result(callId, { status: "completed", output: LOST_RESULT }, [])
  }

  #readLine(line: JsonObject): void {
    switch (line["type"]) {
      case "stream_event":
        return this.#readFrame(objectOf(line["event"]), textOf(line["parent_tool_use_id"]))
      case "assistant":
        return this.#readAssistant(objectOf(line["message"]), textOf(line["parent_tool_use_id"]))
      case "user":
        return this.#readUser(line)
      case "system":
        return this.#readSystem(line)
      case "control_request":
        return this.#readRequest(line)
      case "control_cancel_request": {
        const key = textOf(line["request_id"])
        if (key === undefined || this.#inputs.withdraw(key)) return
        if (this.#collector.withdrawApproval(key, "the runtime no longer waits for it"))
          this.#waitingInputs.delete(key)
        return
      }
      case "control_response":
        return
      case "result":
        return this.#readResult(line)
      default:
        this.#collector.countUnknown(textOf(line["type"]) ?? "untyped")
    }
  }

  #readFrame(event: JsonObject, parentCallId: string | undefined): void {
    const key = parentCallId ?? ""
    switch (event["type"]) {
      case "content_block_delta": {
        const delta = objectOf(event["delta"])
        const reasoning = delta["type"] === "thinking_delta"
        if (!reasoning && delta["type"] !== "text_delta") return
        const text = textOf(delta[reasoning ? "thinking" : "text"]) ?? ""
        if (text === "") return
        const messageId = this.#blockId(key, "message")
        const channel = reasoning ? "reasoning" : "text"
        return this.#collector.emitEvent(
          draft("run.message.delta", { messageId, channel, text, ...defined({ parentCallId }) })
        )
      }
      case "message_start": {
        this.#continueTurn()
        const messageId = textOf(objectOf(event["message"])["id"]) ?? "message"
        this.#streaming.set(key, { messageId, blocks: 0 })
        return
      }
      case "content_block_start": {
        const streaming = this.#streaming.get(key)
        if (streaming !== undefined) streaming.blocks++
        return
      }
      case "message_stop":
        this.#streaming.delete(key)
    }
  }

  /** Id of the block that is streamed now, or of a message without a stream. */
  #blockId(key: string, messageId: string): string {
    const streaming = this.#streaming.get(key)
    return streaming === undefined ? messageId : `${streaming.messageId}:${streaming.blocks}`
  }

  /** Starts a turn if the last one has ended: the program continues by itself, or because of a message. */
  #continueTurn(): void {
    if (this.#collector.isIdle) this.#collector.startTurn()
  }

  #readAssistant(message: JsonObject, parentCallId: string | undefined): void {
    this.#continueTurn()
    const messageId = this.#blockId(parentCallId ?? "", textOf(message["id"]) ?? "message")
    for (const block of arrayOf(message["content"]).filter(isJsonObject)) {
      switch (block["type"]) {
        case "text":
        case "thinking": {
          const channel = block["type"] === "text" ? "text" : "reasoning"
          const text = textOf(block[block["type"]]) ?? ""
          const role = "assistant"
          this.#collector.emitEvent(
            draft("run.message.completed", { messageId, role, channel, text, ...defined({ parentCallId }) })
          )
          break
        }
        case "tool_use":
          this.#calls.call(textOf(block["id"]), textOf(block["name"]), block["input"], parentCallId)
          break
        default:
          this.#collector.countUnknown(textOf(block["type"]) ?? "block")
      }
    }
    this.#addUsage(objectOf(message["usage"]), textOf(message["model"]))
  }

  /** Cached tokens are part of the input. */
  #addUsage(usage: JsonObject, model: string | undefined): void {
    const call: ModelCall = {
      inputTokens: countOf(usage["input_tokens"]) ?? 0,
      outputTokens: countOf(usage["output_tokens"]) ?? 0,
      cachedInputTokens: countOf(usage["cache_read_input_tokens"]) ?? 0,
      ...defined({ model })
    }
    if (call.outputTokens === 0) return
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = this.#usage
    this.#usage = {
      inputTokens: inputTokens + call.inputTokens,
      outputTokens: outputTokens + call.outputTokens,
      cachedInputTokens: cachedInputTokens + (call.cachedInputTokens ?? 0)
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage, calls: [call] })
  }

  #readUser(line: JsonObject): void {
    for (const block of arrayOf(objectOf(line["message"])["content"]).filter(isJsonObject)) {
      if (block["type"] !== "tool_result") continue
      const output = outputOf(block["content"])
      const isFailed = block["is_error"] === true
      const isRefused = output?.startsWith("[Operation Cancelled]") === true
      const status = !isFailed
        ? "completed"
        : !isRefused
          ? "failed"
          : this.#cancelling
            ? "cancelled"
            : "denied"
      const exitCode = isFailed ? exitCodeOf(output) : undefined
      const callId = textOf(block["tool_use_id"])
      if (callId !== undefined) this.#inputs.closeCall(callId)
      if (callId !== undefined && !isFailed) this.#followResult(callId, output ?? "")
      this.#calls.result(callId, { status, output, exitCode }, this.#newFile(callId, output))
    }
  }

  /** Follows what a successful call has started or changed: a command in the background, or the list of steps. */
  #followResult(callId: string, output: string): void {
    const call = this.#calls.get(callId)
    const shell = BACKGROUND_SHELL.exec(output)?.[1]
    if (call?.tool === "run_shell_command" && call.input["is_background"] === true && shell !== undefined) {
      const title = textOf(call.input["command"]) ?? "A command"
      const { parentCallId = callId } = call
      this.#collector.startWork({ id: shell, kind: "command", title, parentCallId })
    }
    if (call?.tool === "todo_write") this.#readSteps(arrayOf(call.input["todos"]), call.parentCallId)
  }

  #readSteps(todos: ReadonlyArray<unknown>, parentCallId: string | undefined): void {
    const steps = todos.map((reported, at): Step => {
      const { content, id, status } = objectOf(reported)
      const state = stepStateOf(status)
      return { id: textOf(id) ?? String(at + 1), text: textOf(content) ?? "", state }
    })
    this.#collector.steps(steps, parentCallId)
  }

  /** A sub-agent or a monitor in the background. */
  #startTask({ description, subagent_type, task_id, tool_use_id }: JsonObject): void {
    const id = textOf(task_id)
    if (id === undefined) return this.#collector.countUnknown("system/task_started")
    const kind = subagent_type === undefined ? "command" : "agent"
    const title = textOf(description) ?? "Background task"
    this.#collector.startWork({ id, kind, title, ...defined({ parentCallId: textOf(tool_use_id) }) })
  }

  /** Ends a task. After the end of a turn the program starts another. A monitor reports more than once. */
  #readNotification({ status, task_id }: JsonObject): void {
    const id = textOf(task_id)
    if (id === undefined || status === "running") return
    this.#collector.endWork(id, endings.get(textOf(status) ?? "") ?? "failed", this.#collector.isIdle)
  }

  /** Events of a new file if the output reports one; `undefined` if the input is enough. */
  #newFile(callId: string | undefined, output: string | undefined): ReadonlyArray<AdapterEvent> | undefined {
    const call = callId === undefined ? undefined : this.#calls.get(callId)
    if (callId === undefined || call === undefined || output?.startsWith(CREATED) !== true) return undefined
    return fileEventsOfCall(call.tool, call.input, callId, this.#calls.relative, "created")
  }

  #readSystem(line: JsonObject): void {
    switch (line["subtype"]) {
      case "init":
        return this.#collector.start(
          defined({
            runtimeSessionId: readSessionId(line["session_id"]),
            runtimeVersion: textOf(line["qwen_code_version"]),
            model: textOf(line["model"]),
            mode: textOf(line["permission_mode"])
          })
        )
      case "retry":
        return this.#emitRetry(objectOf(line["data"]))
      case "task_started":
        return this.#startTask(objectOf(line["data"]))
      case "task_notification":
        return this.#readNotification(objectOf(line["data"]))
      default:
        this.#collector.countUnknown(`system/${textOf(line["subtype"]) ?? ""}`)
    }
  }

  /** Emits a retry. The report may have no reason, which is only in the program's log. */
  #emitRetry({ attempt, delayMs, maxRetries: maxAttempts, reason }: JsonObject): void {
    const failure = serviceFailure(this.#program, textOf(reason) === "retry" ? "" : (textOf(reason) ?? ""))
    this.#collector.emitEvent(toRetryEvent({ attempt, maxAttempts, delayMs, failure }))
  }

  #readRequest(line: JsonObject): void {
    const key = textOf(line["request_id"])
    const request = objectOf(line["request"])
    const subtype = textOf(request["subtype"])
    if (key === undefined || subtype === undefined) return this.#collector.countUnknown("control_request")
    if (subtype === "can_use_tool") return this.#readPermission(key, request)
    // The runtime would wait forever without a response.
    this.#collector.countUnknown(`control_request/${subtype}`)
    this.#collector.emit({ _tag: "Reply", text: controlRefusal(key, `${subtype} is not supported`) })
  }

  #readPermission(key: string, request: JsonObject): void {
    this.#continueTurn()
    const input = objectOf(request["input"])
    if (request["tool_name"] === "agent" && !this.#isReadOnly)
      return this.#collector.emit({
        _tag: "Reply",
        text: controlResponse(key, { behavior: "deny", message: NO_SUB_AGENT })
      })
    const callId = textOf(request["tool_use_id"])
    const parentCallId = callId === undefined ? undefined : this.#calls.get(callId)?.parentCallId
    if (this.#inputs.read(key, request, defined({ callId, parentCallId }))) return
    const approval = toQwenApproval(request, this.#calls.relative, parentCallId)
    if (this.#collector.requestApproval(key, approval)) this.#waitingInputs.set(key, input)
  }

  #readResult(line: JsonObject): void {
    const next = line["is_error"] === true ? undefined : this.#queued.shift()
    if (next !== undefined) return this.#collector.emit({ _tag: "Reply", text: userMessage(next) })
    this.#collector.endTurn(this.#outcomeOf(line))
  }

  #outcomeOf(line: JsonObject): Outcome {
    const usage: Usage = { ...this.#usage, ...defined({ turns: countOf(line["num_turns"]) }) }
    if (line["is_error"] !== true) {
      return { _tag: "Completed", usage, ...defined({ text: textOf(line["result"]) }) }
    }
    const message = textOf(objectOf(line["error"])["message"]) ?? textOf(line["result"]) ?? ""
    if (this.#cancelling || message === "Operation cancelled.") {
      return { _tag: "Cancelled", reason: "interrupted", usage }
    }
    const error = /No auth type is selected/.test(message)
      ? toProgramFailure(this.#program, "not_signed_in", message)
      : serviceFailure(this.#program, message)
    return { _tag: "Failed", error, usage }
  }
}
