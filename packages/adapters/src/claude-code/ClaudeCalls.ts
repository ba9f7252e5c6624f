/**
 * Tool calls of one run of Claude Code: what a call is, and what its result means for files, steps, timers and open questions.
 *
 * Holds the inputs of open calls that later lines need, and no others: the input of a write is as long as its file.
 */
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"
import { LOST_RESULT } from "../text/JsonLines.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import type { Relative } from "../files/RelativePath.ts"
import { type JsonObject, arrayOf, countOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { ClaudeInputs } from "./ClaudeInputs.ts"
import type { ClaudeTimers } from "./ClaudeWork.ts"
import { claudeCallLabel } from "./ToolUse.ts"
import { type PayloadOf, draft } from "@corral/domain/run/RunEvent"
import { type Hunk, replacement, unifiedDiff } from "../text/UnifiedDiff.ts"
import { Buffer } from "node:buffer"
import { extensionOf } from "../output/ContentBlocks.ts"
import type { Step } from "@corral/domain/run/Work"

// Lists of steps that Claude Code keeps with its to-do and task tools, for the agent and for each of its sub-agents.

const states: Readonly<Record<string, Step["state"]>> = {
  pending: "pending",
  in_progress: "in_progress",
  completed: "completed",
  cancelled: "cancelled"
}

const stateOf = (status: unknown): Step["state"] | undefined => states[textOf(status) ?? ""]

/** Most tasks that are kept of one list. */
const MAX_TASKS = 1_000

/** Id of a created task: of the structured result, or of its text. */
const createdId = (structured: unknown, output: string | undefined): string | undefined =>
  textOf(objectOf(objectOf(structured)["task"])["id"]) ?? /^Task #(\w{1,32}) created/.exec(output ?? "")?.[1]

class ClaudeSteps {
  readonly #collector: OutputCollector
  /** Tasks by id, by the call of their sub-agent (`""` for the agent itself). */
  readonly #tasks = new Map<string, Map<string, Step>>()

  constructor(collector: OutputCollector) {
    this.#collector = collector
  }

  /** Reads the result of a successful call. */
  readResult(
    tool: string,
    input: JsonObject,
    structured: unknown,
    output: string | undefined,
    parentCallId: string | undefined
  ): void {
    if (tool === "TodoWrite") return this.#collector.steps(todosIn(input), parentCallId)
    const tasks = this.#tasksOf(parentCallId ?? "")
    switch (tool) {
      case "TaskCreate": {
        const id = createdId(structured, output)
        const text = textOf(input["subject"]) ?? textOf(objectOf(objectOf(structured)["task"])["subject"])
        if (id === undefined || text === undefined || tasks.size >= MAX_TASKS) return
        tasks.set(id, { id, text, state: "pending" })
        break
      }
      case "TaskUpdate":
        updateTask(tasks, input)
        break
      case "TaskList":
        for (const { id, state, text } of listedTasks(structured)) tasks.set(id, { id, text, state })
        break
      default:
        return
    }
    this.#collector.steps([...tasks.values()], parentCallId)
  }

  #tasksOf(parent: string): Map<string, Step> {
    const tasks = this.#tasks.get(parent) ?? new Map<string, Step>()
    this.#tasks.set(parent, tasks)
    return tasks
  }
}

const todosIn = (input: JsonObject): ReadonlyArray<Step> =>
  arrayOf(input["todos"])
    .filter(isJsonObject)
    .map((todo, at) => ({
      id: String(at),
      text: textOf(todo["content"]) ?? "",
      state: stateOf(todo["status"]) ?? "pending"
    }))

const updateTask = (tasks: Map<string, Step>, input: JsonObject): void => {
  const id = textOf(input["taskId"]) ?? ""
  const task = tasks.get(id)
  if (task === undefined) return
  if (input["status"] === "deleted") tasks.delete(id)
  else
    tasks.set(id, {
      id,
      text: textOf(input["subject"]) ?? task.text,
      state: stateOf(input["status"]) ?? task.state
    })
}

const listedTasks = (structured: unknown): ReadonlyArray<Step> =>
  arrayOf(objectOf(structured)["tasks"])
    .filter(isJsonObject)
    .slice(0, MAX_TASKS)
    .flatMap((task) => {
      const [id, text] = [textOf(task["id"]), textOf(task["subject"])]
      return id === undefined || text === undefined
        ? []
        : [{ id, text, state: stateOf(task["status"]) ?? "pending" }]
    })

// Images and documents in the result of a tool call, as files of the run.
//
// Guarantees: a file that cannot be decoded, or is larger than an artifact may be, is left out.

/** Largest file of a run, in characters of base64: 50 MiB. */
const MAX_CHARACTERS = 70_000_000

interface ResultFile {
  readonly name: string
  readonly mediaType: string
  readonly content: Uint8Array
}

const nameIn = (input: JsonObject): string | undefined =>
  textOf(input["file_path"])
    ?.split(/[\\/]/)
    .findLast((part) => part !== "")

/** Whether a block of a result becomes a file. */
const isFileBlock = (block: JsonObject): boolean => {
  const source = objectOf(block["source"])
  const data = textOf(source["data"])
  return (
    (block["type"] === "image" || block["type"] === "document") &&
    source["type"] === "base64" &&
    data !== undefined &&
    data !== "" &&
    data.length <= MAX_CHARACTERS &&
    /^[\w.+-]+\/[\w.+-]+$/.test(textOf(source["media_type"]) ?? "")
  )
}

/** The files of a result. `input`: input of its call, which names the file that was read. */
const filesOfResult = (content: unknown, input: JsonObject): ReadonlyArray<ResultFile> =>
  arrayOf(content)
    .filter(isJsonObject)
    .filter(isFileBlock)
    .map((block, at) => {
      const source = objectOf(block["source"])
      const mediaType = textOf(source["media_type"]) ?? ""
      const numbered = `${textOf(block["type"]) ?? "file"}-${at + 1}${extensionOf(mediaType)}`
      return {
        name: (at === 0 ? nameIn(input) : undefined) ?? numbered,
        mediaType,
        content: new Uint8Array(Buffer.from(textOf(source["data"]) ?? "", "base64"))
      }
    })

// Result of a tool call of Claude Code: its status and text, and the files that it read or changed.

/** The text of a result: a string, or the text blocks of a list. Blocks that become files are no text. */
const readResultOutput = (content: unknown): string | undefined => {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return undefined
  const texts = content
    .map(objectOf)
    .filter((block) => !isFileBlock(block))
    .map(({ text, type }) => textOf(text) ?? (typeof type === "string" ? `[${type}]` : ""))
  return texts.length === 0 && content.length > 0 ? undefined : texts.join("\n")
}

/** Status of a result. `meta` says whether and why the call was not executed. */
const statusOf = (isFailed: boolean, meta: JsonObject): PayloadOf<"run.tool.result">["status"] => {
  if (!isFailed) return "completed"
  if (objectOf(meta["permission_decision"])["decision"] === "reject") return "denied"
  // Rejected without a decision: the turn was interrupted.
  return meta["non_execution_kind"] === "user-rejected" ? "cancelled" : "failed"
}

/** Exit code at the start of a failed command's output. */
const parseExitCode = (output: string | undefined): number | undefined => {
  const code = /^Exit code (\d{1,3})\b/.exec(output ?? "")?.[1]
  return code === undefined ? undefined : Number(code)
}

const isHunk = (value: unknown): value is Hunk =>
  isJsonObject(value) &&
  ["oldStart", "oldLines", "newStart", "newLines"].every((key) => countOf(value[key]) !== undefined) &&
  arrayOf(value["lines"]).every((line) => typeof line === "string")

const writes: ReadonlySet<string> = new Set(["Edit", "MultiEdit", "NotebookEdit", "Write"])
const isWrite = (tool: string): boolean => writes.has(tool)

/** The file that a call read or changed, from its input and the text of its result. */
const fileEventsOfInput = (
  tool: string,
  input: JsonObject,
  output: string | undefined,
  call: { readonly callId: string; readonly parentCallId?: string },
  relative: Relative
): ReadonlyArray<AdapterEvent> => {
  const file = textOf(input["file_path"])
  if (file === undefined) return []
  const path = relative(file)
  if (tool === "Read") return [draft("run.file.read", { path, ...call })]
  if (!isWrite(tool)) return []
  const change = output?.startsWith("File created") === true ? "created" : "modified"
  return [draft("run.file.changed", { path, change, ...call })]
}

/** Files that a call read or changed, from the structured part of its result. */
const fileEventsOfResult = (
  tool: string | undefined,
  structured: unknown,
  call: { readonly callId: string; readonly parentCallId?: string },
  relative: Relative
): ReadonlyArray<AdapterEvent> => {
  if (!isJsonObject(structured)) return []
  const read = textOf(objectOf(structured["file"])["filePath"])
  if (tool === "Read" && read !== undefined)
    return [draft("run.file.read", { path: relative(read), ...call })]
  const changed = textOf(structured["filePath"])
  if (changed === undefined || !Array.isArray(structured["structuredPatch"])) return []
  const path = relative(changed)
  const isNew = structured["type"] === "create"
  const reported = structured["structuredPatch"].filter(isHunk)
  // A new file comes with no hunks: all of its text is new.
  const hunks =
    reported.length === 0 && isNew ? [replacement("", textOf(structured["content"]) ?? "")] : reported
  return [
    draft("run.patch.proposed", { path, patch: unifiedDiff(path, hunks, isNew), ...call }),
    draft("run.file.changed", { path, change: isNew ? "created" : "modified", ...call })
  ]
}

const remembered: ReadonlySet<string> = new Set([
  "CronCreate",
  "ExitPlanMode",
  "Read",
  "ScheduleWakeup",
  "TaskCreate",
  "TaskUpdate",
  "TodoWrite"
])

/** Whether an event is about the program's own file of a plan, which is outside of the workspace. */
const isPlanFile = ({ payload }: AdapterEvent): boolean =>
  "path" in payload && /^\/.*\/\.claude\/plans\/[^/]+\.md$/.test(payload.path)

export class ClaudeCalls {
  readonly #collector: OutputCollector
  readonly #inputs: ClaudeInputs
  readonly #timers: ClaudeTimers
  readonly #steps: ClaudeSteps
  readonly #inputOf = new Map<string, JsonObject>()

  constructor(collector: OutputCollector, inputs: ClaudeInputs, timers: ClaudeTimers) {
    this.#collector = collector
    this.#inputs = inputs
    this.#timers = timers
    this.#steps = new ClaudeSteps(collector)
  }

  /** Input of an open call, if later lines need it. */
  inputOf(callId: string | undefined): JsonObject | undefined {
    return callId === undefined ? undefined : this.#inputOf.get(callId)
  }

  /** Opens the call of a block. Returns false if it is none. */
  open(block: JsonObject, parentCallId: string | undefined, relative: Relative): boolean {
    const [callId, tool] = [textOf(block["id"]), textOf(block["name"])]
    if (callId === undefined || tool === undefined) return false
    const input = objectOf(block["input"])
    if (remembered.has(tool)) this.#inputOf.set(callId, input)
    else if (parentCallId !== undefined && isWrite(tool))
      this.#inputOf.set(callId, { file_path: input["file_path"] ?? input["notebook_path"] })
    const label = claudeCallLabel(tool, input, relative)
    this.#collector.openCall({ callId, tool, label, input, ...defined({ parentCallId }) })
    return true
  }

  /** Closes the call of a result. `line` has what the program adds to it. Returns false if the call is not open. */
  close(block: JsonObject, line: JsonObject, relative: Relative): boolean {
    const callId = textOf(block["tool_use_id"])
    const tool = callId === undefined ? undefined : this.#collector.toolOf(callId)
    if (callId === undefined || tool === undefined) return false
    this.#inputs.closeOfCall(callId)
    const input = this.#inputOf.get(callId) ?? {}
    this.#inputOf.delete(callId)
    const isFailed = block["is_error"] === true
    const output = readResultOutput(block["content"])
    const parentCallId = textOf(line["parent_tool_use_id"])
    if (!isFailed) {
      const structured = line["tool_use_result"]
      const call = { callId, ...defined({ parentCallId }) }
      const reported = fileEventsOfResult(tool, structured, call, relative)
      // The result of a sub-agent's call has only its text, and the result of an image has no path.
      const events = reported.length > 0 ? reported : fileEventsOfInput(tool, input, output, call, relative)
      for (const event of events) if (!isPlanFile(event)) this.#collector.emitEvent(event)
      this.#steps.readResult(tool, input, structured, output, parentCallId)
      this.#timers.readResult(tool, callId, input, structured)
    }
    for (const file of filesOfResult(block["content"], input)) this.#collector.artifact({ ...file, callId })
    const exitCode = isFailed && tool === "Bash" ? parseExitCode(output) : undefined
    const metas = arrayOf(line["tool_result_meta"]).filter(isJsonObject)
    const status = statusOf(isFailed, metas.find((meta) => meta["id"] === callId) ?? {})
    this.#collector.closeCall({ callId, status, ...defined({ output, exitCode }) })
    return true
  }

  /** Closes a call whose result was too long to be read. Returns false if it is not open. */
  closeLost(callId: string): boolean {
    this.#inputs.closeOfCall(callId)
    this.#inputOf.delete(callId)
    return this.#collector.closeCall({
      callId,
      status: "completed",
      output: LOST_RESULT
    })
  }
}
