/**
 * What the items of a Codex conversation mean: messages, reasoning, tool calls with their results, files.
 *
 * An item is reported when it starts and again, whole, when it is done; some only when they are done, and a command that outlives its turn
 * never. `exec` tells the same items under other names (`command_execution`, `exit_code`), which `Exec` puts right before.
 */
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { appliedEvents, changesOf, areChangesComplete, type FileChange } from "./FileChanges.ts"
import { readCodexCall, isCall, type CodexCall } from "./Tools.ts"

/** They mean nothing to a run: what was sent, signs of life, what another event says better. */
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

/** The text blocks of a tool's answer; of others, their kind. */
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
  /** Patches that are not done yet, by item. */
  readonly #changes = new Map<string, unknown>()
  readonly #done = new Set<string>()
  /** Calls that started a sub-agent, by its conversation. */
  readonly #spawned = new Map<string, string>()
  #lastText: string | undefined

  constructor(collector: OutputCollector, relative: Relative) {
    this.#collector = collector
    this.#relative = relative
  }

  /** From now on paths are relative to other roots. */
  root(relative: Relative): void {
    this.#relative = relative
  }

  /** The last whole message of the agent itself. */
  get lastText(): string | undefined {
    return this.#lastText
  }

  /** The call that started the agent of that conversation, or its name where none did. */
  parentOf(thread: string): string {
    return this.#spawned.get(thread) ?? thread
  }

  /** What a patch would change, while it is not done. */
  changesOf(item: string): ReadonlyArray<FileChange> {
    return changesOf(this.#changes.get(item), this.#relative)
  }

  /** Whether that is all that it would change. */
  tellsAll(item: string): boolean {
    return areChangesComplete(this.#changes.get(item))
  }

  /** A patch that is not done yet changes something else. */
  revise(item: string, changes: unknown): void {
    if (this.#changes.has(item)) this.#changes.set(item, changes)
  }

  started(item: JsonObject, parent: string | undefined): void {
    const id = textOf(item["id"])
    if (id === undefined || this.#done.has(id)) return
    if (item["type"] === "fileChange") this.#changes.set(id, item["changes"])
    // What is searched for is often known only when it was found.
    if (item["type"] === "webSearch" && item["query"] === "") return
    const call = readCodexCall(item, this.#relative)
    if (call !== undefined) this.#open(id, call, item, parent)
  }

  completed(item: JsonObject, parent: string | undefined): void {
    const [id, type] = [textOf(item["id"]), textOf(item["type"])]
    if (id === undefined || type === undefined) return this.#collector.countUnknown("item")
    if (silent.has(type)) return
    switch (type) {
      case "agentMessage": {
        const text = textOf(item["text"]) ?? ""
        if (parent === undefined) this.#lastText = text
        return this.#whole(id, "text", text, parent)
      }
      case "plan":
        return this.#whole(id, "text", textOf(item["text"]) ?? "", parent)
      case "reasoning":
        return this.#reasoned(id, item, parent)
    }
    if (!isCall(type)) return this.#collector.countUnknown(`item/${type}`)
    if (this.#done.has(id)) return
    this.#done.add(id)
    // A call that is open has its input and its label.
    const call = this.#collector.toolOf(id) === undefined ? readCodexCall(item, this.#relative) : undefined
    if (call === undefined) this.#spawns(id, item)
    else this.#open(id, call, item, parent)
    this.#result(id, type, item)
  }

  #open(
    callId: string,
    { input, label, tool }: CodexCall,
    item: JsonObject,
    parent: string | undefined
  ): void {
    this.#spawns(callId, item)
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId: parent }))
  }

  /** Only who started an agent is its parent: others wait for it, or talk to it. */
  #spawns(callId: string, item: JsonObject): void {
    for (const thread of arrayOf(item["receiverThreadIds"]))
      if (typeof thread === "string" && !this.#spawned.has(thread)) this.#spawned.set(thread, callId)
  }

  #result(callId: string, type: string, item: JsonObject): void {
    const status = statusOf(item["status"])
    if (status === "completed") this.#files(callId, type, item)
    this.#changes.delete(callId)
    const exitCode = integerOf(item["exitCode"])
    this.#collector.closeCall(defined({ callId, status, output: outputOf(item), exitCode }))
  }

  #files(callId: string, type: string, item: JsonObject): void {
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

  /** Each part of it streams and ends as a separate message. */
  #reasoned(id: string, item: JsonObject, parent: string | undefined): void {
    for (const part of ["summary", "content"])
      for (const [index, text] of arrayOf(item[part]).entries())
        if (typeof text === "string") this.#whole(`${id}:${part}:${index}`, "reasoning", text, parent)
    const text = textOf(item["text"])
    if (text !== undefined) this.#whole(id, "reasoning", text, parent)
  }

  #whole(messageId: string, channel: "text" | "reasoning", text: string, parent: string | undefined): void {
    if (text === "") return
    this.#collector.emitEvent(
      draft(
        "run.message.completed",
        defined({ messageId, role: "assistant" as const, channel, text, parentCallId: parent })
      )
    )
  }
}
