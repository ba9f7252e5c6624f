/**
 * What the lines of `opencode run --format json` mean.
 *
 * Everything comes whole: texts without pieces, a tool when it has ended. There is no line for the end. A run has succeeded if its last
 * step finished with `stop`, no error was reported, and the process left with code 0; after a permission that it did not get it leaves with
 * code 0 too, and its last step then finished with `tool-calls`.
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
  readonly #words: ProgramInfo
  readonly #collector: OutputCollector
  readonly #text: StreamedText
  readonly #calls: Calls
  #usage: Usage = {}
  /** Why the last step finished; `undefined` while one is open. */
  #finished: string | undefined
  #error: RunFailure | undefined

  constructor(words: ProgramInfo, collector: OutputCollector, { workspacePath }: RunStart) {
    this.#words = words
    this.#collector = collector
    this.#text = new StreamedText(collector)
    this.#calls = new Calls(collector, workspacePath)
  }

  readonly onLine: Reader["onLine"] = (line) => {
    const part = objectOf(line["part"])
    switch (line["type"]) {
      case "step_start":
        this.#finished = undefined
        return this.#started(line)
      case "text":
      case "reasoning":
        this.#started(line)
        return this.#text.whole(
          line["type"] === "text" ? "text" : "reasoning",
          textOf(part["text"]) ?? "",
          textOf(part["id"])
        )
      case "tool_use":
        this.#started(line)
        return this.#tool(part)
      case "step_finish":
        this.#started(line)
        this.#finished = textOf(part["reason"])
        return this.#spend(part)
      case "error":
        this.#started(line)
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
      return this.#collector.fail(toProgramFailure(this.#words, "unknown_session", stderr))
    }
    if (end.code !== 0) return
    if (this.#finished === "stop") {
      const text = defined({ text: this.#text.last })
      return this.#collector.conclude({ _tag: "Completed", usage: this.#usage, ...text })
    }
    const asked = stderr.indexOf("permission requested: ")
    if (asked !== -1 && stderr.includes("; auto-rejecting", asked)) {
      this.#collector.fail(toProgramFailure(this.#words, "needs_permission", stderr), this.#usage)
    }
  }

  #started(line: JsonObject): void {
    this.#collector.start(defined({ runtimeSessionId: readSessionId(line["sessionID"]) }))
  }

  #tool(part: JsonObject): void {
    const callId = textOf(part["callID"])
    const state = objectOf(part["state"])
    const failed = state["status"] !== "completed"
    const told = textOf(part["tool"])
    const input = objectOf(state["input"])
    // A tool that does not exist is reported as a completed call.
    const invalid = told === "invalid"
    const tool = invalid ? (textOf(input["tool"]) ?? told) : told
    this.#calls.call(callId, tool, input)
    if (callId === undefined || tool === undefined) return
    const metadata = objectOf(state["metadata"])
    const error = textOf(state["error"])
    const denied = error !== undefined && /rejected permission|rule which prevents/.test(error)
    const status = denied ? "denied" : failed || invalid ? "failed" : "completed"
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

  #spend(part: JsonObject): void {
    const spent = tokensOf(part)
    const so = this.#usage
    this.#usage = {
      inputTokens: (so.inputTokens ?? 0) + spent.input,
      outputTokens: (so.outputTokens ?? 0) + spent.output,
      cachedInputTokens: (so.cachedInputTokens ?? 0) + spent.cached,
      reasoningTokens: (so.reasoningTokens ?? 0) + spent.reasoning,
      turns: (so.turns ?? 0) + 1,
      costUsd: (so.costUsd ?? 0) + spent.cost
    }
    this.#collector.emit({ _tag: "Usage", usage: this.#usage })
  }

  #failureOf(error: JsonObject): RunFailure {
    const data = objectOf(error["data"])
    const name = textOf(error["name"]) ?? ""
    const said = textOf(data["message"]) ?? name
    return name === "ProviderAuthError"
      ? toProgramFailure(this.#words, "not_signed_in", said)
      : serviceFailure(this.#words, said, countOf(data["statusCode"]))
  }
}
