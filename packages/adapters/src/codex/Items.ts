/**
 * Items of a Codex thread as events: messages, reasoning, tool calls with their results, files.
 *
 * An item is reported at its start and, complete, at its end. Some items are reported only at their end, and a command that outlives its
 * turn never is. `exec` has other names for the same items (`command_execution`, `exit_code`), which `Exec` converts.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { appliedEvents, changesOf, areChangesComplete, type FileChange } from "./FileChanges.ts"
import { readCodexCall, isCall, type CodexCall } from "./Tools.ts"

/** Items without an event: user messages, progress, and what another item reports. */
const silent = new Set([
  "userMessage",
  "hookPrompt",
  "subAgentActivity",
  "enteredReviewMode",
  "exitedReviewMode",
  "contextCompaction",
  "functionCallOutput",
  // Of `exec`: a warning, and a plan.
  "error",
  "todoList"
])

const integerOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : undefined

const statusOf = (status: unknown): PayloadOf<"run.tool.result">["status"] => {
  if (status === "declined") return "denied"
  return status === "failed" ? "failed" : "completed"
}

/** Output of a tool: its text blocks, and the types of other blocks. */
const outputOf = (item: JsonObject): string | undefined => {
  const error = textOf(objectOf(item["error"])["message"])
  if (error !== undefined) return error
  const content = objectOf(item["result"])["content"] ?? item["contentItems"]
  if (!Array.isArray(content)) return textOf(item["aggregatedOutput"])
  return content
    .map((block) => {
      const { text, type } = objectOf(block)
      return textOf(text) ?? (typeof type === "string" ? `[${type}]` : "")
    })
    .join("\n")
}

export class Items {
  readonly #collector: OutputCollector
  #relative: Relative
  /** Changes of patches in progress, by item. */
  readonly #changes = new Map<string, unknown>()
  readonly #done = new Set<string>()
  /** Calls that started a sub-agent, by its thread. */
  readonly #spawned = new Map<string, string>()
  #lastText: string | undefined

  constructor(collector: OutputCollector, relative: Relative) {
    this.#collector = collector
    this.#relative = relative
  }

  /** Replaces the roots that paths are relative to. */
  root(relative: Relative): void {
    this.#relative = relative
  }

  /** The last message of the agent itself. */
  get lastText(): string | undefined {
    return this.#lastText
  }

  /** Call that started the sub-agent of a thread, or the thread's id if unknown. */
  parentOf(thread: string): string {
    return this.#spawned.get(thread) ?? thread
  }

  /** Changes of a patch in progress. */
  changesOf(item: string): ReadonlyArray<FileChange> {
    return changesOf(this.#changes.get(item), this.#relative)
  }

  /** Whether these changes name all files of the patch. */
  namesAllFiles(item: string): boolean {
    return areChangesComplete(this.#changes.get(item))
  }

  /** Replaces the changes of a patch in progress. */
  revise(item: string, changes: unknown): void {
    if (this.#changes.has(item)) this.#changes.set(item, changes)
  }

  started(item: JsonObject, parent: string | undefined): void {
    const id = textOf(item["id"])
    if (id === undefined || this.#done.has(id)) return
    if (item["type"] === "fileChange") this.#changes.set(id, item["changes"])
    // The query is often known only at the end.
    if (item["type"] === "webSearch" && item["query"] === "") return
    const call = readCodexCall(item, this.#relative)
    if (call !== undefined) this.#openCall(id, call, item, parent)
  }

  completed(item: JsonObject, parent: string | undefined): void {
    const [id, type] = [textOf(item["id"]), textOf(item["type"])]
    if (id === undefined || type === undefined) return this.#collector.countUnknown("item")
    if (silent.has(type)) return
    switch (type) {
      case "agentMessage": {
        const text = textOf(item["text"]) ?? ""
        if (parent === undefined) this.#lastText = text
        return this.#emitMessage(id, "text", text, parent)
      }
      case "plan":
        return this.#emitMessage(id, "text", textOf(item["text"]) ?? "", parent)
      case "reasoning":
        return this.#emitReasoning(id, item, parent)
    }
    if (!isCall(type)) return this.#collector.countUnknown(`item/${type}`)
    if (this.#done.has(id)) return
    this.#done.add(id)
    // An open call already has its input and label.
    const call = this.#collector.toolOf(id) === undefined ? readCodexCall(item, this.#relative) : undefined
    if (call === undefined) this.#recordSpawned(id, item)
    else this.#openCall(id, call, item, parent)
    this.#closeCall(id, type, item)
  }

  #openCall(
    callId: string,
    { input, label, tool }: CodexCall,
    item: JsonObject,
    parent: string | undefined
  ): void {
    this.#recordSpawned(callId, item)
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId: parent }))
  }

  /** Records the call that started a sub-agent. Later calls only wait for it, or send it messages. */
  #recordSpawned(callId: string, item: JsonObject): void {
    for (const thread of arrayOf(item["receiverThreadIds"]))
      if (typeof thread === "string" && !this.#spawned.has(thread)) this.#spawned.set(thread, callId)
  }

  #closeCall(callId: string, type: string, item: JsonObject): void {
    const status = statusOf(item["status"])
    if (status === "completed") this.#emitFiles(callId, type, item)
    this.#changes.delete(callId)
    const exitCode = integerOf(item["exitCode"])
    this.#collector.closeCall(defined({ callId, status, output: outputOf(item), exitCode }))
  }

  #emitFiles(callId: string, type: string, item: JsonObject): void {
    if (type === "fileChange")
      for (const event of appliedEvents(changesOf(item["changes"], this.#relative), callId))
        this.#collector.emitEvent(event)
    const read =
      type === "imageView"
        ? [item]
        : arrayOf(item["commandActions"])
            .filter(isJsonObject)
            .filter((action) => action["type"] === "read")
    for (const { path } of read)
      if (typeof path === "string")
        this.#collector.emitEvent(draft("run.file.read", { path: this.#relative(path), callId }))
  }

  /** Each part of the reasoning is a separate message. */
  #emitReasoning(id: string, item: JsonObject, parent: string | undefined): void {
    for (const part of ["summary", "content"])
      for (const [index, text] of arrayOf(item[part]).entries())
        if (typeof text === "string") this.#emitMessage(`${id}:${part}:${index}`, "reasoning", text, parent)
    const text = textOf(item["text"])
    if (text !== undefined) this.#emitMessage(id, "reasoning", text, parent)
  }

  #emitMessage(
    messageId: string,
    channel: "text" | "reasoning",
    text: string,
    parent: string | undefined
  ): void {
    if (text === "") return
    this.#collector.emitEvent(
      draft(
        "run.message.completed",
        defined({ messageId, role: "assistant" as const, channel, text, parentCallId: parent })
      )
    )
  }
}
