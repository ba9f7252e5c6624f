/**
 * Pi, one prompt per process, with the reader of its lines (`--mode json`). Pi has no permissions: it runs in `full_access`, or without tools that
 * write or execute. Then it has no extensions either, because a folder may contain some.
 *
 * Each piece of text comes with the whole message so far, which is ignored. A refused request is a message with the stop reason `error`, and the
 * exit code is 0. `agent_end` is printed once per attempt: a successful one ends the run, another may be retried. Pi numbers the lines of its
 * diffs; a unified diff is made of them.
 */
import { modelServices, piNetwork, proxies } from "./ModelHosts.ts"
import { Calls, fileEventsOfCall, toolPathOf } from "./one-shot/Tools.ts"
import {
  OneShotProtocol,
  type ProgramInfo,
  type Reader,
  mayChange,
  oneShotCapabilities,
  readSessionId,
  serviceFailure,
  toArgument,
  toProgramFailure
} from "./one-shot/OneShot.ts"
import type { OutputCollector } from "./output/OutputCollector.ts"
import { ReportedCost } from "./output/ReportedCost.ts"
import { toRetryEvent } from "./output/ServiceFailure.ts"
import { piProject } from "./ProjectFiles.ts"
import { piFolders } from "./StateFolders.ts"
import { arrayOf, countOf, defined, isJsonObject, type JsonObject, objectOf, textOf } from "./text/Json.ts"
import { type Hunk, unifiedDiff } from "./text/UnifiedDiff.ts"
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type {
  AdapterEvent,
  ModelCall,
  ProcessEnd,
  RunStart,
  RuntimeAdapter
} from "@corral/domain/run/RuntimeAdapter"

// Unified diff from a diff with a line number before each line: ` 1 same`, `-2 before`, `+2 after`, `   ...` between parts.

const LINE = /^([ +-]) *(\d+)/

interface Part {
  oldStart: number
  newStart: number
  oldLines: number
  newLines: number
  readonly lines: Array<string>
}

/** Hunk that begins with a line. `shift`: number of lines that the new file has more, so far. */
const beginPart = (sign: string, number: number, shift: number): Part => ({
  oldStart: sign === "+" ? number - shift : number,
  newStart: sign === "+" ? number : number + shift,
  oldLines: 0,
  newLines: 0,
  lines: []
})

const hunksOf = (text: string): ReadonlyArray<Hunk> => {
  const parts: Array<Part> = []
  let part: Part | undefined
  let shift = 0
  for (const line of text.split("\n")) {
    const [head = "", sign = "", number = ""] = LINE.exec(line) ?? []
    const content = line.slice(head.length + 1)
    if (sign === "") {
      part = undefined
      continue
    }
    if (part === undefined) parts.push((part = beginPart(sign, Number(number), shift)))
    part.lines.push(sign + content)
    if (sign !== "+") part.oldLines++
    if (sign !== "-") part.newLines++
    if (sign === "+") shift++
    if (sign === "-") shift--
  }
  // A hunk without lines on one side starts at the line before it.
  return parts.map((one) => ({
    ...one,
    oldStart: one.oldLines === 0 ? Math.max(0, one.oldStart - 1) : one.oldStart,
    newStart: one.newLines === 0 ? Math.max(0, one.newStart - 1) : one.newStart
  }))
}

/**
 * The patch of one file; `undefined` if no line is added or removed.
 *
 * @internal
 */
export const patchOfNumbered = (text: string, path: string): string | undefined => {
  const hunks = hunksOf(text)
  const changes = hunks.some(({ lines }) => lines.some((line) => !line.startsWith(" ")))
  return changes ? unifiedDiff(path, hunks, false) : undefined
}

/** Lines without an event, and lines that another one repeats. */
const silent = new Set([
  "agent_start",
  "turn_start",
  "turn_end",
  "tool_execution_update",
  "queue_update",
  "response"
])

/** Tokens of a reply. Pi counts cached tokens apart from the input. */
const callOf = (usage: JsonObject, model: string | undefined): ModelCall => {
  const [cachedInputTokens, cacheWriteTokens] = [
    countOf(usage["cacheRead"]) ?? 0,
    countOf(usage["cacheWrite"]) ?? 0
  ]
  return {
    inputTokens: (countOf(usage["input"]) ?? 0) + cachedInputTokens + cacheWriteTokens,
    outputTokens: countOf(usage["output"]) ?? 0,
    cachedInputTokens,
    cacheWriteTokens,
    ...defined({ model })
  }
}

/** The text of a tool's result. */
const outputOf = (result: unknown): string | undefined => {
  const content = objectOf(result)["content"]
  if (!Array.isArray(content)) return undefined
  return content.flatMap((block) => textOf(objectOf(block)["text"]) ?? []).join("\n")
}

/** Exit code at the end of a failed command's output. */
const exitCodeOf = (output: string | undefined): number | undefined => {
  const code = /Command exited with code (\d{1,3})$/.exec(output ?? "")?.[1]
  return code === undefined ? undefined : Number(code)
}

/** Text of a complete message. */
const textIn = (message: JsonObject): string =>
  arrayOf(message["content"])
    .filter(isJsonObject)
    .flatMap((block) => (block["type"] === "text" ? (textOf(block["text"]) ?? []) : []))
    .join("")

/** Reader of Pi's lines (`--mode json`). */
class PiLines implements Reader {
  readonly #program: ProgramInfo
  readonly #collector: OutputCollector
  readonly #calls: Calls
  #number = 0
  readonly #cost = new ReportedCost()
  #usage: Usage = {}
  /** Error of the last attempt, as the program reported it. */
  #error: string | undefined

  constructor(program: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#program = program
    this.#collector = collector
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    switch (line["type"]) {
      case "message_update":
        return this.#emitDelta(objectOf(line["assistantMessageEvent"]))
      case "session":
        return this.#collector.start(defined({ runtimeSessionId: readSessionId(line["id"]) }))
      case "message_start":
        if (objectOf(line["message"])["role"] === "assistant") this.#number++
        return
      case "message_end":
        return this.#readMessage(objectOf(line["message"]))
      case "tool_execution_start":
        return this.#calls.call(textOf(line["toolCallId"]), textOf(line["toolName"]), line["args"])
      case "tool_execution_end":
        return this.#readToolResult(line)
      case "agent_end":
        return this.#endAttempt(line)
      case "auto_retry_start": {
        const { attempt, delayMs, maxAttempts } = line
        const failure = serviceFailure(this.#program, textOf(line["errorMessage"]) ?? "")
        return this.#collector.emitEvent(toRetryEvent({ attempt, maxAttempts, delayMs, failure }))
      }
      case "auto_retry_end":
        if (line["success"] === false) {
          const message = textOf(line["finalError"]) ?? this.#error ?? ""
          this.#collector.fail(serviceFailure(this.#program, message), this.#usage)
        }
        return
      default: {
        const type = textOf(line["type"]) ?? "untyped"
        if (!silent.has(type)) this.#collector.countUnknown(type)
      }
    }
  }

  readonly onEnd: Reader["onEnd"] = ({ stderr }: ProcessEnd) => {
    if (this.#error !== undefined)
      this.#collector.fail(serviceFailure(this.#program, this.#error), this.#usage)
    else if (/No API key found|No models available/.test(stderr))
      this.#collector.fail(toProgramFailure(this.#program, "not_signed_in", stderr))
    // In another folder it offers to copy the session, and there is no user to ask.
    else if (/^No session found matching|^Session found in different project/m.test(stderr))
      this.#collector.fail(toProgramFailure(this.#program, "unknown_session", stderr))
  }

  #emitDelta(event: JsonObject): void {
    const type = event["type"]
    if (type !== "text_delta" && type !== "thinking_delta") return
    const text = textOf(event["delta"]) ?? ""
    if (text === "") return
    const channel = type === "text_delta" ? "text" : "reasoning"
    this.#collector.emitEvent(
      draft("run.message.delta", { messageId: this.#idOf(event["contentIndex"]), channel, text })
    )
  }

  #idOf(index: unknown): string {
    return `message-${this.#number}:${countOf(index) ?? 0}`
  }

  #readMessage(message: JsonObject): void {
    if (message["role"] !== "assistant") return
    const isBroken = message["stopReason"] === "error" || message["stopReason"] === "aborted"
    this.#addReply(message, isBroken ? 0 : 1)
    // The message is incomplete, and its request may be retried.
    if (isBroken) return
    arrayOf(message["content"]).forEach((reported, index) => {
      const block = objectOf(reported)
      const channel = block["type"] === "thinking" ? "reasoning" : "text"
      const text = textOf(block[block["type"] === "thinking" ? "thinking" : "text"])
      if (text === undefined) return
      const messageId = this.#idOf(index)
      this.#collector.emitEvent(
        draft("run.message.completed", { messageId, role: "assistant", channel, text })
      )
    })
  }

  /** A broken reply has tokens but does not count as a turn. */
  #addReply(message: JsonObject, replies: 0 | 1): void {
    const reported = objectOf(message["usage"])
    const [provider, name] = [textOf(message["provider"]), textOf(message["model"])]
    const model = provider === undefined || name === undefined ? name : `${provider}/${name}`
    const call = callOf(reported, model)
    const { cachedInputTokens = 0, inputTokens = 0, outputTokens = 0, turns = 0 } = this.#usage
    this.#usage = {
      inputTokens: inputTokens + call.inputTokens,
      outputTokens: outputTokens + call.outputTokens,
      cachedInputTokens: cachedInputTokens + (call.cachedInputTokens ?? 0),
      turns: turns + replies,
      ...this.#cost.add(objectOf(reported["cost"])["total"], call)
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage, calls: [call] })
  }

  #readToolResult(line: JsonObject): void {
    const output = outputOf(line["result"])
    const isFailed = line["isError"] !== false
    const callId = textOf(line["toolCallId"])
    const exitCode = isFailed && line["toolName"] === "bash" ? exitCodeOf(output) : undefined
    const result = { status: isFailed ? "failed" : "completed", output, exitCode } as const
    this.#calls.result(callId, result, callId === undefined ? undefined : this.#filesOf(line, callId))
  }

  /** Events of the file that a call edited, with its patch; `undefined` if the result has none. */
  #filesOf(line: JsonObject, callId: string): ReadonlyArray<AdapterEvent> | undefined {
    const call = this.#calls.get(callId)
    const diff = textOf(objectOf(objectOf(line["result"])["details"])["diff"])
    const absolute = call === undefined ? undefined : toolPathOf(call.tool, call.input)
    if (call === undefined || diff === undefined || absolute === undefined) return undefined
    const path = this.#calls.relative(absolute)
    const patch = patchOfNumbered(diff, path)
    const files = fileEventsOfCall(call.tool, call.input, callId, this.#calls.relative)
    return patch === undefined ? files : [draft("run.patch.proposed", { path, patch, callId }), ...files]
  }

  #endAttempt(line: JsonObject): void {
    const last = arrayOf(line["messages"])
      .filter(isJsonObject)
      .findLast((message) => message["role"] === "assistant")
    this.#error = undefined
    switch (last?.["stopReason"]) {
      case "length":
        return this.#collector.fail(toProgramFailure(this.#program, "output_limit", ""), this.#usage)
      case "stop":
        return this.#collector.conclude({ _tag: "Completed", usage: this.#usage, text: textIn(last) })
      case "aborted":
        return this.#collector.conclude({ _tag: "Cancelled", reason: "interrupted", usage: this.#usage })
      case "error":
        this.#error = textOf(last["errorMessage"]) ?? ""
    }
  }
}

const signIn = "Run `pi` on this machine and use /login, or set the key of your model service for the Edge."
const program: ProgramInfo = { label: "Pi", signIn }

/** Pi, found as `pi` on PATH. */
export const pi: RuntimeAdapter = {
  specificationVersion: 1,
  id: "pi",
  label: program.label,
  capabilities: oneShotCapabilities({ readOnly: true, resume: true }),
  counts: ["tokens", "turns", "cost"],
  reportsCost: true,
  continuation: {
    store: "~/.pi/agent/sessions",
    model: "any",
    mode: "any",
    folder: "same"
  },
  images: "native",
  probe: {
    command: "pi",
    versionArgs: ["--version"],
    install: "Install Pi: npm install -g @mariozechner/pi-coding-agent",
    signIn
  },
  passEnv: ["PI_*", ...modelServices, ...proxies],
  projectSettings: piProject,
  folders: piFolders,
  network: piNetwork,
  command: ({ images = [], isConfined, prompt, mode, model, projectSettings, resumeSessionId }) => ({
    file: "pi",
    args: [
      "--mode",
      "json",
      ...(mayChange({ isConfined, mode }) ? [] : ["--tools", "read,grep,find,ls"]),
      // In a read-only mode any extension could be a tool that writes, the user's own included.
      ...(mayChange({ isConfined, mode }) && projectSettings === "enabled" ? [] : ["--no-extensions"]),
      ...(projectSettings === "enabled" ? [] : ["--no-skills", "--no-prompt-templates", "--no-themes"]),
      ...(model === undefined ? [] : ["--model", model]),
      ...(resumeSessionId === undefined ? [] : ["--session", resumeSessionId]),
      "-p",
      ...images.map(({ path }) => `@${path}`),
      toArgument(prompt)
    ],
    stdin: "ignore"
  }),
  protocol: (start) => new OneShotProtocol(program, (collector) => new PiLines(program, collector, start))
}
