/**
 * Items of Codex's threads as events: messages, reasoning, tool calls with their results, files. Also the agent's list of steps.
 *
 * An item is reported at its start and, complete, at its end. Some items are reported only at their end. A command may end after the turn that
 * started it: until then it is work in the background.
 */
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import { type JsonObject, arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { SubAgents } from "./Threads.ts"
import {
  type CodexCall,
  type FileChange,
  appliedEvents,
  areChangesComplete,
  changesOf,
  isCall,
  readCodexCall
} from "./Tools.ts"
import { type BlockFile, readBlock } from "../output/ContentBlocks.ts"
import type { Step } from "@corral/domain/run/Work"

// The agent's list of steps.

const stateOf = (status: unknown): Step["state"] => {
  if (status === "completed") return "completed"
  return status === "inProgress" ? "in_progress" : "pending"
}

/** The steps of a list. Entries without a text are skipped. */
export const codexSteps = (list: unknown): ReadonlyArray<Step> =>
  arrayOf(list).flatMap((value, at) => {
    const entry = objectOf(value)
    const text = textOf(entry["step"])
    return text === undefined ? [] : [{ id: `${at + 1}`, text, state: stateOf(entry["status"]) }]
  })

// Output of a tool: its texts, and the images and other files among its content.

interface ToolOutput {
  readonly text?: string
  readonly files: ReadonlyArray<BlockFile>
}

/** A block of a dynamic tool has the names of the model service, and its media as `data:` address. */
const toBlock = (value: unknown): JsonObject => {
  const block = objectOf(value)
  const kind = { inputImage: "image", inputAudio: "audio", inputText: "text" }[textOf(block["type"]) ?? ""]
  if (kind === undefined) return block
  const url = textOf(block["imageUrl"]) ?? textOf(block["audioUrl"]) ?? ""
  const comma = url.indexOf(",")
  const mediaType = /^data:([^;,]{1,100});base64$/.exec(url.slice(0, Math.max(0, comma)))?.[1]
  if (mediaType === undefined) return { type: kind, text: block["text"] ?? `[${kind}]` }
  return { type: kind, mimeType: mediaType, data: url.slice(comma + 1) }
}

const contentOutput = (content: ReadonlyArray<unknown>): ToolOutput => {
  const texts: Array<string> = []
  const files: Array<BlockFile> = []
  for (const value of content) {
    const block = toBlock(value)
    const read = readBlock(block)
    if (read !== undefined && "file" in read) files.push(read.file)
    else texts.push(read?.text ?? textOf(block["text"]) ?? `[${textOf(block["type"]) ?? "unknown"}]`)
  }
  const hasText = texts.length > 0 || files.length === 0
  return { files, ...(hasText ? { text: texts.join("\n") } : {}) }
}

/** Output of an item. */
const outputOf = (item: JsonObject): ToolOutput => {
  const error = textOf(objectOf(item["error"])["message"])
  if (error !== undefined) return { text: error, files: [] }
  const image = item["type"] === "imageGeneration" ? textOf(item["result"]) : undefined
  if (image !== undefined && image !== "")
    return contentOutput([{ type: "image", mimeType: "image/png", data: image }])
  const content = objectOf(item["result"])["content"] ?? item["contentItems"]
  if (Array.isArray(content)) return contentOutput(arrayOf(content))
  const text = textOf(item["aggregatedOutput"])
  return { files: [], ...(text === undefined ? {} : { text }) }
}

/** Items without an event: user messages, progress, and what another item reports. */
const silent = new Set([
  "userMessage",
  "hookPrompt",
  "enteredReviewMode",
  "exitedReviewMode",
  "contextCompaction",
  "functionCallOutput"
])

/** The thread of an item: the agent's own (`thread` may be unknown then), or that of the sub-agent that the call `parent` started. */
export interface ItemOrigin {
  readonly thread?: string
  readonly parent?: string
}

const ownThread: ItemOrigin = {}

interface OpenItem {
  readonly thread: string | undefined
  /** Title of a command: only commands continue after their turn. */
  readonly command?: string
}

const integerOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : undefined

const statusOf = (status: unknown): PayloadOf<"run.tool.result">["status"] => {
  if (status === "declined") return "denied"
  return status === "failed" ? "failed" : "completed"
}

export class Items {
  readonly #collector: OutputCollector
  #relative: Relative
  /** Changes of patches in progress, by item. */
  readonly #changes = new Map<string, unknown>()
  readonly #open = new Map<string, OpenItem>()
  readonly #done = new Set<string>()
  readonly #subAgents: SubAgents | undefined
  #lastText: string | undefined

  constructor(collector: OutputCollector, relative: Relative, subAgents?: SubAgents) {
    this.#collector = collector
    this.#relative = relative
    this.#subAgents = subAgents
  }

  /** Replaces the roots that paths are relative to. */
  root(relative: Relative): void {
    this.#relative = relative
  }

  /** The last message of the agent itself. */
  get lastText(): string | undefined {
    return this.#lastText
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

  /** The turn of a thread has ended. Its commands continue as work in the background, and its other calls end with `status`. */
  turnEnded(thread: string, status: "failed" | "cancelled"): void {
    for (const [callId, { command, thread: place }] of this.#open) {
      if (place !== thread) continue
      if (command === undefined) {
        this.#open.delete(callId)
        this.#collector.closeCall({ callId, status })
      } else this.#collector.startWork({ id: callId, kind: "command", title: command, parentCallId: callId })
    }
  }

  started(item: JsonObject, origin = ownThread): void {
    const id = textOf(item["id"])
    if (id === undefined || this.#done.has(id)) return
    if (item["type"] === "fileChange") this.#changes.set(id, item["changes"])
    // The query is often known only at the end.
    if (item["type"] === "webSearch" && item["query"] === "") return
    const call = readCodexCall(item, this.#relative)
    if (call === undefined) return
    if (item["tool"] === "spawnAgent") this.#subAgents?.spawning(id, textOf(item["prompt"]))
    this.#openCall(id, call, item, origin)
  }

  completed(item: JsonObject, origin = ownThread): void {
    const [id, type] = [textOf(item["id"]), textOf(item["type"])]
    const { parent } = origin
    if (id === undefined || type === undefined) return this.#collector.countUnknown("item")
    if (silent.has(type)) return
    switch (type) {
      case "agentMessage": {
        const text = textOf(item["text"]) ?? ""
        if (parent === undefined) this.#lastText = text
        return this.#emitMessage(id, "text", text, parent)
      }
      case "plan": {
        const text = textOf(item["text"]) ?? ""
        if (parent === undefined) this.#lastText = text
        return this.#emitMessage(id, "text", text, parent)
      }
      case "reasoning":
        return this.#emitReasoning(id, item, parent)
      case "error":
        return this.#collector.notice("warning", textOf(item["message"]) ?? "Codex gave a warning.")
      case "subAgentActivity":
        if (item["kind"] !== "started") return
    }
    if (!isCall(type)) return this.#collector.countUnknown(`item/${type}`)
    if (this.#done.has(id)) return
    this.#done.add(id)
    this.#open.delete(id)
    // An open call already has its input and label.
    const call = this.#collector.toolOf(id) === undefined ? readCodexCall(item, this.#relative) : undefined
    if (call === undefined) this.#recordSpawned(id, item)
    else this.#openCall(id, call, item, origin)
    this.#open.delete(id)
    this.#subAgents?.spawnEnded(id)
    this.#closeCall(id, type, item, parent)
  }

  #openCall(
    callId: string,
    { input, label, tool }: CodexCall,
    item: JsonObject,
    { parent, thread }: ItemOrigin
  ): void {
    this.#recordSpawned(callId, item)
    this.#open.set(callId, { thread, ...(item["type"] === "commandExecution" ? { command: label } : {}) })
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId: parent }))
  }

  /** Records the call that started a sub-agent. Later calls only wait for it, or send it messages. */
  #recordSpawned(callId: string, item: JsonObject): void {
    const task = textOf(item["prompt"]) ?? textOf(item["agentPath"])
    for (const thread of [...arrayOf(item["receiverThreadIds"]), item["agentThreadId"]])
      if (typeof thread === "string") this.#subAgents?.spawned(thread, callId, task)
  }

  #closeCall(callId: string, type: string, item: JsonObject, parent: string | undefined): void {
    const status = statusOf(item["status"])
    if (status === "completed") this.#emitFiles(defined({ callId, parentCallId: parent }), type, item)
    this.#changes.delete(callId)
    const exitCode = integerOf(item["exitCode"])
    const { files, text: output } = outputOf(item)
    for (const file of files) this.#collector.artifact({ ...file, callId })
    this.#collector.closeCall(defined({ callId, status, output, exitCode }))
    // After the result: the end of the last work may end the run.
    this.#collector.endWork(callId, status === "completed" ? "completed" : "failed")
  }

  #emitFiles(
    call: { readonly callId: string; readonly parentCallId?: string },
    type: string,
    item: JsonObject
  ): void {
    if (type === "fileChange")
      for (const event of appliedEvents(changesOf(item["changes"], this.#relative), call))
        this.#collector.emitEvent(event)
    const read =
      type === "imageView"
        ? [item]
        : arrayOf(item["commandActions"])
            .filter(isJsonObject)
            .filter((action) => action["type"] === "read")
    for (const { path } of read)
      if (typeof path === "string")
        this.#collector.emitEvent(draft("run.file.read", { path: this.#relative(path), ...call }))
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
