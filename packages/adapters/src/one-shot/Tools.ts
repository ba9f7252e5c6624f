/**
 * Built-in tools of one-shot programs: the kind of a tool, its one-line label, the files that a call reads or changes, its approval, and the open
 * calls of a run. Names are the programs' own. No name has two kinds.
 *
 * These programs name the file in the call only, so its result needs the input of the call.
 */
import {
  folderOfPattern,
  hasOnlyKnownReadFields,
  hasOnlyKnownWriteFields,
  pathsIn
} from "../files/InputPaths.ts"
import { type Relative, relativeTo } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { titleLine } from "../text/FirstLine.ts"
import { defined, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import { replacement, unifiedDiff } from "../text/UnifiedDiff.ts"
import type { ActionClass, ApprovalRequest, DecisionScope, Risk } from "@corral/domain/approval/Approval"
import { draft, type PayloadOf } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"

type ToolKind = "shell" | "read" | "write" | "edit" | "search" | "fetch" | "delegate"

const kinds: ReadonlyMap<string, ToolKind> = new Map([
  ...["bash", "run_shell_command"].map((name) => [name, "shell"] as const),
  ...["read", "read_file", "view"].map((name) => [name, "read"] as const),
  ...["write", "write_file", "create"].map((name) => [name, "write"] as const),
  ...["edit", "replace", "notebook_edit"].map((name) => [name, "edit"] as const),
  ...["grep", "glob", "find", "grep_search", "search_file_content"].map((name) => [name, "search"] as const),
  ...["web_fetch", "webfetch"].map((name) => [name, "fetch"] as const),
  ...["task", "agent"].map((name) => [name, "delegate"] as const)
])

export const toolKindOf = (tool: string): ToolKind | undefined => kinds.get(tool)

/** The file that a tool reads or writes. */
export const toolPathOf = (tool: string, input: JsonObject): string | undefined =>
  (tool === "notebook_edit" ? textOf(input["notebook_path"]) : undefined) ??
  textOf(input["file_path"]) ??
  textOf(input["filePath"]) ??
  textOf(input["path"]) ??
  textOf(input["absolute_path"])

/** Every path of a call's input, the tool's target first. */
const toolPathsOf = (tool: string, input: JsonObject): ReadonlyArray<string> => {
  const paths = pathsIn(input, toolPathOf(tool, input))
  const folder = tool === "glob" ? folderOfPattern(input["pattern"]) : undefined
  return folder === undefined ? paths : [...paths, folder]
}

/** One line for a list: `Run npm test`, `Edit src/main.ts`. */
const toolLabel = (tool: string, input: JsonObject, relative: Relative): string => {
  const path = toolPathOf(tool, input)
  const file = path === undefined ? "a file" : relative(path)
  switch (kinds.get(tool)) {
    case "shell":
      return titleLine(`Run ${textOf(input["command"]) ?? "a command"}`)
    case "read":
      return titleLine(`Read ${file}`)
    case "write":
      return titleLine(`Write ${file}`)
    case "edit":
      return titleLine(`Edit ${file}`)
    case "search":
      return titleLine(`Search ${textOf(input["pattern"]) ?? "files"}`)
    case "fetch":
      return titleLine(`Fetch ${textOf(input["url"]) ?? "a page"}`)
    case "delegate":
      return titleLine(`Delegate: ${textOf(input["description"]) ?? "a task"}`)
    case undefined:
      return titleLine(`Use ${tool}`)
  }
}

/**
 * Event of the file that a successful call read or changed, from its input. Unless the program reports a new file, a written file counts as
 * modified.
 */
export const fileEventsOfCall = (
  tool: string,
  input: JsonObject,
  callId: string,
  relative: Relative,
  change: PayloadOf<"run.file.changed">["change"] = "modified"
): ReadonlyArray<AdapterEvent> => {
  const path = toolPathOf(tool, input)
  const kind = kinds.get(tool)
  if (path === undefined) return []
  if (kind === "read") return [draft("run.file.read", { path: relative(path), callId })]
  return kind === "write" || kind === "edit"
    ? [draft("run.file.changed", { path: relative(path), change, callId })]
    : []
}

interface Call {
  readonly tool: string
  readonly input: JsonObject
  readonly parentCallId?: string | undefined
}

interface CallResult {
  readonly status: PayloadOf<"run.tool.result">["status"]
  readonly output?: string | undefined
  readonly exitCode?: number | undefined
}

/** A file event of a sub-agent's call belongs to the call that started the sub-agent. */
const withParent = (event: AdapterEvent, parentCallId: string | undefined): AdapterEvent => {
  if (parentCallId === undefined) return event
  switch (event.type) {
    case "run.file.read":
      return draft(event.type, { ...event.payload, parentCallId })
    case "run.file.changed":
      return draft(event.type, { ...event.payload, parentCallId })
    case "run.patch.proposed":
      return draft(event.type, { ...event.payload, parentCallId })
    default:
      return event
  }
}

/** Open tool calls of a run with their inputs. */
export class Calls {
  readonly relative: Relative
  readonly #collector: OutputCollector
  readonly #open = new Map<string, Call>()

  constructor(collector: OutputCollector, workspacePath: string) {
    this.#collector = collector
    this.relative = relativeTo(workspacePath)
  }

  /** Opens a call. A call without an id or a name is counted as unknown. */
  call(callId: string | undefined, tool: string | undefined, reported: unknown, parentCallId?: string): void {
    if (callId === undefined || tool === undefined) return this.#collector.countUnknown("tool call")
    if (this.#collector.isOver || this.#open.has(callId)) return
    const input = objectOf(reported)
    this.#open.set(callId, { tool, input, parentCallId })
    const label = toolLabel(tool, input, this.relative)
    this.#collector.openCall(defined({ callId, tool, label, input, parentCallId }))
  }

  get(callId: string): Call | undefined {
    return this.#open.get(callId)
  }

  /** Closes a call. If it succeeded, emits its files first: `files`, or the file that its input names. */
  result(callId: string | undefined, result: CallResult, files?: ReadonlyArray<AdapterEvent>): void {
    const call = callId === undefined ? undefined : this.#open.get(callId)
    if (callId === undefined || call === undefined) return this.#collector.countUnknown("tool result")
    this.#open.delete(callId)
    if (result.status === "completed") {
      for (const event of files ?? fileEventsOfCall(call.tool, call.input, callId, this.relative))
        this.#collector.emitEvent(withParent(event, call.parentCallId))
    }
    const { status, output, exitCode } = result
    this.#collector.closeCall(defined({ callId, status, output, exitCode }))
  }
}

/** A call that waits for a decision. */
interface WaitingCall {
  readonly tool: string
  readonly input: JsonObject
  readonly callId?: string | undefined
  readonly parentCallId?: string | undefined
  /** Patch as the program reports it. Without it, the removed and added text of the input. */
  readonly patch?: string | undefined
  readonly reason?: string | undefined
  /** Scopes of a decision, if the input is complete. */
  readonly scopes: ReadonlyArray<DecisionScope>
}

/** Input fields of a shell that do not change what runs: the command in the folder. */
const SHELL_FIELDS = new Set(["command", "description", "timeout", "is_background", "directory", "workdir"])

const classOf = (tool: string): readonly [ActionClass, Risk] => {
  switch (toolKindOf(tool)) {
    case "read":
    case "search":
    case "write":
    case "edit":
      return ["write", "low"]
    case "fetch":
      return ["network", "low"]
    default:
      // Anything unknown may do anything: the class with the strictest rules.
      return tool.startsWith("mcp__") ? ["network", "medium"] : ["shell", "medium"]
  }
}

/** Whether the input names the whole effect of a call. */
const isComplete = (tool: string, input: JsonObject): boolean => {
  switch (toolKindOf(tool)) {
    case "write":
    case "edit":
      return hasOnlyKnownWriteFields(input)
    case "read":
    case "search":
      return hasOnlyKnownReadFields(input)
    case "shell":
      return Object.keys(input).every((name) => SHELL_FIELDS.has(name))
    default:
      return true
  }
}

const isReader = (tool: string): boolean => {
  const kind = toolKindOf(tool)
  return kind === "read" || kind === "search"
}

/** Patch with the removed and added text. A written file is shown as new, because the earlier content is unknown. */
const patchOf = (tool: string, input: JsonObject, path: string): string | undefined => {
  const content = textOf(input["content"])
  if (toolKindOf(tool) === "write" && content !== undefined)
    return unifiedDiff(path, [replacement("", content)], true)
  const before = textOf(input["old_string"]) ?? textOf(input["oldString"])
  const after = textOf(input["new_string"]) ?? textOf(input["newString"])
  return toolKindOf(tool) === "edit" && (before !== undefined || after !== undefined)
    ? unifiedDiff(path, [replacement(before ?? "", after ?? "")], false)
    : undefined
}

/** Approval of a call of a built-in tool. */
export const toToolApproval = (call: WaitingCall, relative: Relative): ApprovalRequest => {
  const { callId, input, parentCallId, reason, scopes, tool } = call
  const isWhole = isComplete(tool, input)
  const [action, risk] = classOf(tool)
  const command = toolKindOf(tool) === "shell" ? textOf(input["command"]) : undefined
  const folder = textOf(input["directory"]) ?? textOf(input["workdir"]) ?? "."
  const files = command === undefined ? [...new Set(toolPathsOf(tool, input).map(relative))] : []
  const [file] = files
  return {
    action,
    risk: isWhole ? risk : "high",
    title: toolLabel(tool, input, relative),
    tool,
    ...defined({
      callId,
      parentCallId,
      command,
      cwd: command === undefined ? undefined : relative(folder),
      files: file === undefined ? undefined : files,
      readsOnly: isWhole && file !== undefined && isReader(tool) ? true : undefined,
      patch: call.patch ?? (file === undefined ? undefined : patchOf(tool, input, file)),
      url: toolKindOf(tool) === "fetch" ? textOf(input["url"]) : undefined,
      reason
    }),
    input,
    editable: false,
    scopes: isWhole ? scopes : ["once"]
  }
}
