/**
 * Copilot CLI, one prompt per process, with the reader of its lines (`--output-format json`): events with a `type` and `data`, and one `result` at
 * the end. It cannot request permissions in this way, so it runs in `full_access`, or with writing and the shell denied. These denials override
 * every permission, and all other permission requests fail too.
 *
 * The program waits for its sub-agents and commands in the background before the last line, and does not say which ones run. Only the last line has
 * the id of the conversation, too late to resume it. Tokens are not reported. A file that was read has a patch without changes, which is ignored.
 */
import { copilotNetwork, proxies } from "./ModelHosts.ts"
import { Calls, toolKindOf } from "./one-shot/Tools.ts"
import {
  OneShotProtocol,
  type ProgramInfo,
  type Reader,
  mayChange,
  oneShotCapabilities,
  serviceFailure,
  toArgument,
  toProgramFailure
} from "./one-shot/OneShot.ts"
import type { OutputCollector } from "./output/OutputCollector.ts"
import { toRetryEvent } from "./output/ServiceFailure.ts"
import { copilotProject } from "./ProjectFiles.ts"
import { copilotFolders } from "./StateFolders.ts"
import { arrayOf, countOf, defined, isJsonObject, type JsonObject, objectOf, textOf } from "./text/Json.ts"
import type { RunFailure } from "@corral/domain/run/Run"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, ProcessEnd, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"

/** Lines without an event: progress, user messages, and what another line repeats. */
const silent = new Set([
  "user.message",
  "assistant.turn_start",
  "assistant.turn_end",
  "assistant.idle",
  "assistant.intent",
  "assistant.message_start",
  "assistant.tool_call_delta",
  "model.call_start",
  "model.call_finished",
  "model.call_final_result",
  "session.skills_loaded",
  "session.mcp_servers_loaded",
  "session.info",
  "session.mode_notice_delivered",
  "session.background_tasks_changed",
  "session.todos_changed",
  "subagent.completed",
  "subagent.configured",
  "subagent.started",
  "system.notification",
  "tool.execution_partial_result",
  "tool.shell_output"
])

const changes: ReadonlyMap<string, PayloadOf<"run.file.changed">["change"]> = new Map([
  ["create", "created"],
  ["edit", "modified"],
  ["delete", "deleted"]
])

/** The patch of one file with its path in the workspace; `undefined` if no line is added or removed. */
const patchOf = (diffText: string | undefined, absolute: string, path: string): string | undefined => {
  const from = diffText?.indexOf("\n--- ") ?? -1
  if (diffText === undefined || from === -1) return undefined
  const patch = diffText
    .slice(from + 1)
    .replace("--- a/dev/null", "--- /dev/null")
    .replace("+++ b/dev/null", "+++ /dev/null")
    .replace(`--- a${absolute}`, `--- a/${path}`)
    .replace(`+++ b${absolute}`, `+++ b/${path}`)
  return /^[+-](?![+-]{2} )/m.test(patch) ? patch : undefined
}

/** The call of the sub-agent that a line belongs to. */
const parentOf = (data: JsonObject): string | undefined => textOf(data["parentToolCallId"])

/** Reader of Copilot CLI's lines. */
class CopilotLines implements Reader {
  readonly #program: ProgramInfo
  readonly #collector: OutputCollector
  readonly #calls: Calls
  #lastText: string | undefined
  #turns = 0
  #error: RunFailure | undefined
  #failedCall: JsonObject = {}

  constructor(program: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#program = program
    this.#collector = collector
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    const type = textOf(line["type"]) ?? "untyped"
    const data = objectOf(line["data"])
    switch (type) {
      case "assistant.message_delta":
        return this.#emitDelta("text", data["messageId"], data["deltaContent"], parentOf(data))
      case "assistant.reasoning_delta":
        return this.#emitDelta("reasoning", data["reasoningId"], data["deltaContent"], parentOf(data))
      case "assistant.message":
        return this.#readMessage(data)
      case "assistant.reasoning":
        return this.#emitMessage("reasoning", data["reasoningId"], data["content"], parentOf(data))
      case "session.tools_updated":
        return this.#collector.start(defined({ model: textOf(data["model"]) }))
      case "tool.execution_start":
        return this.#calls.call(
          textOf(data["toolCallId"]),
          textOf(data["toolName"]),
          data["arguments"],
          textOf(data["parentToolCallId"])
        )
      case "tool.execution_complete":
        return this.#readToolResult(data)
      case "model.call_failure":
        this.#failedCall = data
        return
      case "assistant.turn_retry":
        return this.#emitRetry(textOf(data["reason"]) ?? "")
      case "session.error":
        this.#error = this.#failureOf(data)
        return
      case "result":
        return this.#readResult(line)
      default:
        if (!silent.has(type)) this.#collector.countUnknown(type)
    }
  }

  readonly onEnd: Reader["onEnd"] = ({ code, stderr }: ProcessEnd) => {
    if (this.#error !== undefined) this.#collector.fail(this.#error)
    else if (/No authentication information found/.test(stderr))
      this.#collector.fail(toProgramFailure(this.#program, "not_signed_in", stderr))
    else if (code !== 0 && /error: (?:unknown option|option )/.test(stderr))
      this.#collector.fail(toProgramFailure(this.#program, "bad_option", stderr))
  }

  #emitDelta(
    channel: "text" | "reasoning",
    id: unknown,
    text: unknown,
    parentCallId: string | undefined
  ): void {
    if (typeof text !== "string" || text === "") return
    const messageId = textOf(id) ?? channel
    this.#collector.emitEvent(
      draft("run.message.delta", { messageId, channel, text, ...defined({ parentCallId }) })
    )
  }

  #emitMessage(
    channel: "text" | "reasoning",
    id: unknown,
    content: unknown,
    parentCallId: string | undefined
  ): void {
    const text = textOf(content) ?? ""
    if (text === "") return
    const messageId = textOf(id) ?? channel
    this.#collector.emitEvent(
      draft("run.message.completed", {
        messageId,
        role: "assistant",
        channel,
        text,
        ...defined({ parentCallId })
      })
    )
  }

  #readMessage(data: JsonObject): void {
    this.#error = undefined
    this.#turns++
    const parentCallId = parentOf(data)
    if (parentCallId === undefined) this.#lastText = textOf(data["content"]) ?? this.#lastText
    this.#emitMessage("text", data["messageId"], data["content"], parentCallId)
    this.#collector.emit({ _tag: "Usage", usage: { turns: this.#turns } })
  }

  #readToolResult(data: JsonObject): void {
    const callId = textOf(data["toolCallId"])
    const error = objectOf(data["error"])
    const result = objectOf(data["result"])
    const status = data["success"] === true ? "completed" : error["code"] === "denied" ? "denied" : "failed"
    const output = textOf(result["content"]) ?? textOf(error["message"])
    const exitCode = countOf(objectOf(data["shellExecution"])["exitCode"])
    // A call that only reads names its file in its input.
    const tool = callId === undefined ? undefined : this.#calls.get(callId)?.tool
    const reads = tool !== undefined && toolKindOf(tool) === "read"
    const files = reads || callId === undefined ? undefined : this.#filesOf(data, callId)
    this.#calls.result(callId, { status, output, exitCode }, files)
  }

  #filesOf(data: JsonObject, callId: string): ReadonlyArray<AdapterEvent> {
    const edits = arrayOf(data["fileEdits"]).filter(isJsonObject)
    const diffText = textOf(objectOf(data["result"])["detailedContent"])
    return edits.flatMap((edit) => {
      const absolute = textOf(edit["path"])
      if (absolute === undefined) return []
      const path = this.#calls.relative(absolute)
      const patch = edits.length === 1 ? patchOf(diffText, absolute, path) : undefined
      const change = changes.get(textOf(edit["kind"]) ?? "") ?? "modified"
      const changed = draft("run.file.changed", { path, change, callId })
      return patch === undefined ? [changed] : [draft("run.patch.proposed", { path, patch, callId }), changed]
    })
  }

  /** Emits a retry of the call whose failure was reported before. */
  #emitRetry(reason: string): void {
    const { errorMessage, retryAttempt, statusCode } = this.#failedCall
    this.#failedCall = {}
    const failure = serviceFailure(this.#program, textOf(errorMessage) ?? reason, countOf(statusCode))
    const attempt = (countOf(retryAttempt) ?? 0) + 1
    this.#collector.emitEvent(toRetryEvent({ attempt, failure }))
  }

  #failureOf(data: JsonObject): RunFailure {
    const message = textOf(data["message"]) ?? ""
    return serviceFailure(this.#program, message, countOf(data["statusCode"]))
  }

  #readResult(line: JsonObject): void {
    const usage = { turns: this.#turns }
    if (this.#error === undefined && line["exitCode"] === 0) {
      return this.#collector.conclude({ _tag: "Completed", usage, ...defined({ text: this.#lastText }) })
    }
    this.#collector.fail(this.#error ?? toProgramFailure(this.#program, "runtime_error", ""), usage)
  }
}

const signIn = "Run `copilot` on this machine and use /login, or set GH_TOKEN for the Edge."
const program: ProgramInfo = { label: "Copilot CLI", signIn }

/** No one can answer a question of a program that reads one prompt. */
const outputFlags = "--output-format json --stream on --no-auto-update --no-ask-user".split(" ")
const readOnlyFlags = ["--deny-tool=write", "--deny-tool=shell"]

/** Copilot CLI, found as `copilot` on PATH. */
export const copilot: RuntimeAdapter = {
  specificationVersion: 1,
  id: "copilot",
  label: program.label,
  capabilities: oneShotCapabilities({ readOnly: true }),
  counts: ["turns"],
  probe: {
    command: "copilot",
    versionArgs: ["--version"],
    install: "Install Copilot CLI: npm install -g @github/copilot",
    signIn
  },
  passEnv: ["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", ...proxies],
  projectSettings: copilotProject,
  folders: copilotFolders,
  network: copilotNetwork,
  command: ({ isConfined, prompt, mode, model, projectSettings }) => ({
    file: "copilot",
    args: [
      "-p",
      toArgument(prompt),
      ...outputFlags,
      ...(mayChange({ isConfined, mode }) ? ["--allow-all-tools", "--allow-all-paths"] : readOnlyFlags),
      ...(mode === "plan" ? ["--plan"] : []),
      ...(model === undefined ? [] : ["--model", model]),
      ...(projectSettings === "enabled" ? ["--trust-folder"] : [])
    ],
    env: {
      // A program that updates itself during a run is not the probed one.
      COPILOT_AUTO_UPDATE: "false",
      // The value `true` would also trust the folder.
      COPILOT_ALLOW_ALL: "false"
    },
    stdin: "ignore"
  }),
  protocol: (start) =>
    new OneShotProtocol(program, (collector) => new CopilotLines(program, collector, start))
}
