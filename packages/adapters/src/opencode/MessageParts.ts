/**
 * Parts of OpenCode's messages: texts and thoughts, which are streamed in pieces and then completed; tool calls; and steps with their tokens and
 * costs, sub-agents included. A step is one call to a model; the finished steps of all sessions are the usage of the run.
 *
 * A call is pending, then running with its input, then completed or failed with its result. The id of the part identifies the call, because ids of
 * a model are not unique among sub-agents.
 */
import type { Usage } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, ModelCall, UsageReport } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import type { Relative } from "../files/RelativePath.ts"
import { Calls, fileEventsOfCall, toolPathOf } from "../one-shot/Tools.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { ReportedCost } from "../output/ReportedCost.ts"
import { type JsonObject, arrayOf, countOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import { LOST_RESULT } from "../text/JsonLines.ts"

/** The patch as reported, with paths of the workspace. */
export const openCodePatch = (diff: unknown, absolute: string, path: string): string | undefined =>
  textOf(diff)
    ?.replaceAll(`--- ${absolute}`, `--- a/${path}`)
    .replaceAll(`+++ ${absolute}`, `+++ b/${path}`)
    .replace(/^Index: .*\n=+\n/, "")

const DATA_ADDRESS = /^data:([^;,]{1,100});base64,/

const keyOf = (messageId: unknown, callId: unknown): string => `${textOf(messageId)}/${textOf(callId)}`

/** Tool calls of OpenCode. */
export class ToolParts {
  readonly relative: Relative
  readonly #collector: OutputCollector
  readonly #calls: Calls
  readonly #closed = new Set<string>()
  /** Parts by the message and the model's id of the call. */
  readonly #parts = new Map<string, string>()

  constructor(collector: OutputCollector, workspacePath: string) {
    this.#collector = collector
    this.#calls = new Calls(collector, workspacePath)
    this.relative = this.#calls.relative
  }

  /** The id of a call that a request names as `{messageID, callID}`. */
  idOf(named: unknown): string | undefined {
    const { callID, messageID } = objectOf(named)
    return this.#parts.get(keyOf(messageID, callID))
  }

  /** An open call with its input. */
  get(id: string): { readonly tool: string; readonly input: JsonObject } | undefined {
    return this.#calls.get(id)
  }

  /** Reads a part. It is repeated on every change of it. */
  read(part: JsonObject, parentCallId: string | undefined): void {
    const id = textOf(part["id"])
    if (id === undefined || this.#closed.has(id)) return
    const state = objectOf(part["state"])
    const input = objectOf(state["input"])
    const reported = textOf(part["tool"])
    // A tool that does not exist is reported as a completed call.
    const isInvalid = reported === "invalid"
    const tool = isInvalid ? (textOf(input["tool"]) ?? reported) : reported
    const status = state["status"]
    this.#parts.set(keyOf(part["messageID"], part["callID"]), id)
    if (status === "pending" || tool === undefined) return
    this.#calls.call(id, tool, input, parentCallId)
    if (status === "running") return
    this.#closed.add(id)
    this.#close(id, tool, input, state, status !== "completed" || isInvalid)
  }

  /** Closes the call of a result that was lost. Its part has no id, which follows the result. */
  closeLost(part: JsonObject): void {
    const state = objectOf(part["state"])["status"]
    if (state !== "completed" && state !== "error") return
    const key = keyOf("", part["callID"])
    for (const [name, id] of this.#parts) {
      if (!name.endsWith(key) || this.#closed.has(id) || this.get(id) === undefined) continue
      this.#closed.add(id)
      this.#calls.result(id, { status: state === "error" ? "failed" : "completed", output: LOST_RESULT }, [])
    }
  }

  #close(id: string, tool: string, input: JsonObject, state: JsonObject, isFailed: boolean): void {
    const metadata = objectOf(state["metadata"])
    const error = textOf(state["error"])
    const isDenied =
      error !== undefined && /rejected permission|rule which prevents|dismissed this question/.test(error)
    if (!isFailed) this.#emitAttachments(id, state["attachments"])
    this.#calls.result(
      id,
      {
        status: isDenied ? "denied" : isFailed ? "failed" : "completed",
        output: error ?? textOf(state["output"]),
        exitCode: countOf(metadata["exit"])
      },
      this.#filesOf(id, tool, input, metadata)
    )
  }

  /** Emits the files of a result, such as an image that was read. */
  #emitAttachments(callId: string, attachments: unknown): void {
    for (const [at, attachment] of arrayOf(attachments).filter(isJsonObject).entries()) {
      const url = textOf(attachment["url"]) ?? ""
      const found = DATA_ADDRESS.exec(url)
      if (found === null) continue
      const mediaType = found[1] ?? "application/octet-stream"
      const name = textOf(attachment["filename"]) ?? `result-${at + 1}.${mediaType.replace(/^.*[/+]/, "")}`
      const content = Buffer.from(url.slice(found[0].length), "base64")
      this.#collector.artifact({ name, mediaType, content, callId })
    }
  }

  #filesOf(
    callId: string,
    tool: string,
    input: JsonObject,
    metadata: JsonObject
  ): ReadonlyArray<AdapterEvent> {
    const patched = arrayOf(metadata["files"]).filter(isJsonObject)
    if (tool === "apply_patch") return patched.flatMap((file) => this.#eventsOfPatch(callId, file))
    const absolute = toolPathOf(tool, input)
    const change = metadata["exists"] === false ? "created" : "modified"
    const files = fileEventsOfCall(tool, input, callId, this.relative, change)
    if (absolute === undefined) return files
    const path = this.relative(absolute)
    const patch = openCodePatch(metadata["diff"], absolute, path)
    return patch === undefined ? files : [draft("run.patch.proposed", { path, patch, callId }), ...files]
  }

  /** Events of one file of a patch for several files. */
  #eventsOfPatch(callId: string, file: JsonObject): ReadonlyArray<AdapterEvent> {
    const absolute = textOf(file["filePath"])
    if (absolute === undefined) return []
    const path = this.relative(absolute)
    const moved = textOf(file["movePath"])
    const patch = openCodePatch(file["patch"] ?? file["diff"], absolute, path)
    const change = file["type"] === "add" ? "created" : file["type"] === "delete" ? "deleted" : "modified"
    return [
      ...(patch === undefined ? [] : [draft("run.patch.proposed", { path, patch, callId })]),
      moved === undefined
        ? draft("run.file.changed", { path, change, callId })
        : draft("run.file.changed", { path: this.relative(moved), change: "renamed", fromPath: path, callId })
    ]
  }
}

type Channel = "text" | "reasoning"

/** Texts and thoughts of OpenCode's messages. */
export class TextParts {
  readonly #collector: OutputCollector
  /** Messages of the user, and prompts of sub-agents. */
  readonly #prompts = new Set<string>()
  readonly #open = new Map<string, Channel>()
  readonly #completed = new Set<string>()
  #last: string | undefined

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** The last text of the conversation in this turn. */
  get last(): string | undefined {
    return this.#last
  }

  startTurn(): void {
    this.#last = undefined
  }

  readMessage({ id, role }: JsonObject): void {
    if (role !== "assistant" && typeof id === "string") this.#prompts.add(id)
  }

  /** The hot path. */
  readDelta({ delta, field, partID }: JsonObject, parentCallId: string | undefined): void {
    const channel = typeof partID === "string" ? this.#open.get(partID) : undefined
    if (typeof partID !== "string" || channel === undefined || field !== "text") return
    if (typeof delta !== "string" || delta === "") return
    const payload = { messageId: partID, channel, text: delta }
    this.#collector.emitEvent(
      draft("run.message.delta", parentCallId === undefined ? payload : { ...payload, parentCallId })
    )
  }

  read(part: JsonObject, parentCallId: string | undefined): void {
    const [id, message, text] = [textOf(part["id"]), textOf(part["messageID"]), textOf(part["text"]) ?? ""]
    if (id === undefined || message === undefined || this.#prompts.has(message) || part["synthetic"] === true)
      return
    const channel = part["type"] === "text" ? "text" : "reasoning"
    if (this.#completed.has(id)) return
    if (objectOf(part["time"])["end"] === undefined) return void this.#open.set(id, channel)
    this.#open.delete(id)
    this.#completed.add(id)
    if (text === "") return
    if (channel === "text" && parentCallId === undefined) this.#last = text
    this.#collector.emitEvent(
      draft("run.message.completed", {
        messageId: id,
        role: "assistant",
        channel,
        text,
        ...defined({ parentCallId })
      })
    )
  }
}

/** OpenCode counts cached tokens apart from the input, and the tokens of the reasoning apart from the output. */
export class StepUsage {
  readonly #cost = new ReportedCost()
  /** All steps so far. */
  usage: Usage = {}

  /** Adds one finished step of a model. */
  add(part: JsonObject, model: string | undefined): UsageReport {
    const tokens = objectOf(part["tokens"])
    const cache = objectOf(tokens["cache"])
    const [cached, written] = [countOf(cache["read"]) ?? 0, countOf(cache["write"]) ?? 0]
    const reasoning = countOf(tokens["reasoning"]) ?? 0
    const call: ModelCall = {
      inputTokens: (countOf(tokens["input"]) ?? 0) + cached + written,
      outputTokens: (countOf(tokens["output"]) ?? 0) + reasoning,
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      ...defined({ model })
    }
    const { usage: before } = this
    this.usage = {
      inputTokens: (before.inputTokens ?? 0) + call.inputTokens,
      outputTokens: (before.outputTokens ?? 0) + call.outputTokens,
      cachedInputTokens: (before.cachedInputTokens ?? 0) + cached,
      reasoningTokens: (before.reasoningTokens ?? 0) + reasoning,
      turns: (before.turns ?? 0) + 1,
      ...this.#cost.add(part["cost"], call)
    }
    return { usage: this.usage, calls: [call] }
  }
}
