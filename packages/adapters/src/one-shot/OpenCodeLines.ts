/**
 * Reader of the lines of `opencode run --format json`.
 *
 * Texts come without pieces, and a tool call at its end. There is no line for the end of the run: it has succeeded if the last step
 * finished with `stop`, no error was reported, and the exit code is 0. After a denied permission the exit code is 0 too, but the last step
 * finished with `tool-calls`.
 */
import type { RunFailure, Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, ProcessEnd, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { countOf, defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { Calls } from "./Calls.ts"
import { toProgramFailure, serviceFailure, type ProgramInfo } from "./Failure.ts"
import { readSessionId, type Reader } from "./OneShot.ts"
import { StreamedText } from "./StreamedText.ts"
import { fileEventsOfCall, toolPathOf } from "./Tools.ts"

const tokensOf = (part: JsonObject) => {
  const tokens = objectOf(part["tokens"])
  const cache = objectOf(tokens["cache"])
  const cached = countOf(cache["read"]) ?? 0
  const cost = part["cost"]
  return {
    input: (countOf(tokens["input"]) ?? 0) + cached + (countOf(cache["write"]) ?? 0),
    output: countOf(tokens["output"]) ?? 0,
    reasoning: countOf(tokens["reasoning"]) ?? 0,
    cached,
    cost: typeof cost === "number" && Number.isFinite(cost) ? cost : 0
  }
}

/** The patch as reported, with paths of the workspace. */
const patchOf = (metadata: JsonObject, absolute: string, path: string): string | undefined =>
  textOf(metadata["diff"])
    ?.replaceAll(`--- ${absolute}`, `--- a/${path}`)
    .replaceAll(`+++ ${absolute}`, `+++ b/${path}`)
    .replace(/^Index: .*\n=+\n/, "")

export class OpenCodeLines implements Reader {
  readonly #program: ProgramInfo
  readonly #collector: OutputCollector
  readonly #text: StreamedText
  readonly #calls: Calls
  #usage: Usage = {}
  /** Why the last step finished; `undefined` during a step. */
  #finishReason: string | undefined
  #error: RunFailure | undefined

  constructor(program: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#program = program
    this.#collector = collector
    this.#text = new StreamedText(collector)
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    const part = objectOf(line["part"])
    switch (line["type"]) {
      case "step_start":
        this.#finishReason = undefined
        return this.#startRun(line)
      case "text":
      case "reasoning":
        this.#startRun(line)
        return this.#text.whole(
          line["type"] === "text" ? "text" : "reasoning",
          textOf(part["text"]) ?? "",
          textOf(part["id"])
        )
      case "tool_use":
        this.#startRun(line)
        return this.#readTool(part)
      case "step_finish":
        this.#startRun(line)
        this.#finishReason = textOf(part["reason"])
        return this.#addUsage(part)
      case "error":
        this.#startRun(line)
        this.#error = this.#failureOf(objectOf(line["error"]))
        return
      default:
        this.#collector.countUnknown(textOf(line["type"]) ?? "untyped")
    }
  }

  readonly onEnd: Reader["onEnd"] = (end: ProcessEnd) => {
    const { stderr } = end
    if (this.#error !== undefined) return this.#collector.fail(this.#error, this.#usage)
    if (/Session not found/.test(stderr)) {
      return this.#collector.fail(toProgramFailure(this.#program, "unknown_session", stderr))
    }
    if (end.code !== 0) return
    if (this.#finishReason === "stop") {
      const text = defined({ text: this.#text.last })
      return this.#collector.conclude({ _tag: "Completed", usage: this.#usage, ...text })
    }
    const requestAt = stderr.indexOf("permission requested: ")
    if (requestAt !== -1 && stderr.includes("; auto-rejecting", requestAt)) {
      this.#collector.fail(toProgramFailure(this.#program, "needs_permission", stderr), this.#usage)
    }
  }

  #startRun(line: JsonObject): void {
    this.#collector.start(defined({ runtimeSessionId: readSessionId(line["sessionID"]) }))
  }

  #readTool(part: JsonObject): void {
    const callId = textOf(part["callID"])
    const state = objectOf(part["state"])
    const isFailed = state["status"] !== "completed"
    const reportedTool = textOf(part["tool"])
    const input = objectOf(state["input"])
    // A tool that does not exist is reported as a completed call.
    const isInvalid = reportedTool === "invalid"
    const tool = isInvalid ? (textOf(input["tool"]) ?? reportedTool) : reportedTool
    this.#calls.call(callId, tool, input)
    if (callId === undefined || tool === undefined) return
    const metadata = objectOf(state["metadata"])
    const error = textOf(state["error"])
    const isDenied = error !== undefined && /rejected permission|rule which prevents/.test(error)
    const status = isDenied ? "denied" : isFailed || isInvalid ? "failed" : "completed"
    this.#calls.result(
      callId,
      { status, output: error ?? textOf(state["output"]), exitCode: countOf(metadata["exit"]) },
      this.#filesOf(tool, input, callId, metadata)
    )
  }

  #filesOf(
    tool: string,
    input: JsonObject,
    callId: string,
    metadata: JsonObject
  ): ReadonlyArray<AdapterEvent> {
    const relative = this.#calls.relative
    const absolute = toolPathOf(tool, input)
    const change = metadata["exists"] === false ? "created" : "modified"
    const files = fileEventsOfCall(tool, input, callId, relative, change)
    const path = absolute === undefined ? undefined : relative(absolute)
    const patch = absolute === undefined || path === undefined ? undefined : patchOf(metadata, absolute, path)
    return patch === undefined || path === undefined
      ? files
      : [draft("run.patch.proposed", { path, patch, callId }), ...files]
  }

  #addUsage(part: JsonObject): void {
    const tokens = tokensOf(part)
    const usage = this.#usage
    this.#usage = {
      inputTokens: (usage.inputTokens ?? 0) + tokens.input,
      outputTokens: (usage.outputTokens ?? 0) + tokens.output,
      cachedInputTokens: (usage.cachedInputTokens ?? 0) + tokens.cached,
      reasoningTokens: (usage.reasoningTokens ?? 0) + tokens.reasoning,
      turns: (usage.turns ?? 0) + 1,
      costUsd: (usage.costUsd ?? 0) + tokens.cost
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage })
  }

  #failureOf(error: JsonObject): RunFailure {
    const data = objectOf(error["data"])
    const name = textOf(error["name"]) ?? ""
    const message = textOf(data["message"]) ?? name
    return name === "ProviderAuthError"
      ? toProgramFailure(this.#program, "not_signed_in", message)
      : serviceFailure(this.#program, message, countOf(data["statusCode"]))
  }
}
