/**
 * Tools of Claude Code for users: one-line labels, and approvals with the exact action.
 */
import type { ActionClass, ApprovalRequest, DecisionScope, Risk } from "@corral/domain/approval/Approval"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import {
  folderOfPattern,
  hasOnlyKnownReadFields,
  hasOnlyKnownWriteFields,
  pathsIn
} from "../files/InputPaths.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { replacement, unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"

/** Input field with the file of a tool, if it is not `file_path`. */
const targets: Readonly<Record<string, string>> = {
  NotebookEdit: "notebook_path",
  NotebookRead: "notebook_path",
  Glob: "path",
  Grep: "path",
  LS: "path"
}

/** Every path of a call's input, the tool's target first. */
const pathsOf = (tool: string, input: JsonObject): ReadonlyArray<string> => {
  const target = Object.hasOwn(targets, tool) ? targets[tool] : undefined
  const paths = pathsIn(input, textOf(input[target ?? "file_path"]))
  const folder = tool === "Glob" ? folderOfPattern(input["pattern"]) : undefined
  return folder === undefined ? paths : [...paths, folder]
}

/** Server and tool of the name `mcp__server__tool`. */
const mcp = (tool: string): { readonly server: string; readonly name: string } | undefined => {
  const [prefix, server, ...name] = tool.split("__")
  return prefix === "mcp" && server !== undefined && name.length > 0
    ? { server, name: name.join("__") }
    : undefined
}

/** One line for a list: `Run npm test`, `Edit src/main.ts`. */
export const claudeCallLabel = (tool: string, input: JsonObject, relative: Relative): string => {
  const [path] = pathsOf(tool, input)
  const file = path === undefined ? "a file" : relative(path)
  switch (tool) {
    case "Bash":
      return titleLine(`Run ${textOf(input["command"]) ?? "a command"}`)
    case "Read":
      return `Read ${file}`
    case "Write":
      return `Write ${file}`
    case "Edit":
    case "MultiEdit":
    case "NotebookEdit":
      return `Edit ${file}`
    case "Glob":
    case "Grep":
      return titleLine(`Search ${textOf(input["pattern"]) ?? "files"}`)
    case "WebFetch":
      return titleLine(`Fetch ${textOf(input["url"]) ?? "a page"}`)
    case "WebSearch":
      return titleLine(`Search the web for ${textOf(input["query"]) ?? "something"}`)
    case "Task":
    case "Agent":
      return titleLine(`Delegate: ${textOf(input["description"]) ?? "a task"}`)
    case "AskUserQuestion":
      return titleLine(textOf(objectOf(arrayOf(input["questions"])[0])["question"]) ?? "Ask a question")
    case "ExitPlanMode":
      return "Carry out the plan"
    case "TaskCreate":
      return titleLine(`Add step: ${textOf(input["subject"]) ?? "a step"}`)
    case "TaskUpdate":
    case "TodoWrite":
      return "Update the steps"
    case "ScheduleWakeup":
      return titleLine(`Wake up later: ${textOf(input["reason"]) ?? "no reason given"}`)
    case "CronCreate":
      return titleLine(`Plan a job: ${textOf(input["prompt"]) ?? "no prompt given"}`)
    case "Monitor":
      return titleLine(`Watch: ${textOf(input["description"]) ?? "a command"}`)
  }
  const remote = mcp(tool)
  return remote === undefined ? titleLine(`Use ${tool}`) : titleLine(`Use ${remote.name} of ${remote.server}`)
}

const classOf = (tool: string): readonly [ActionClass, Risk] => {
  switch (tool) {
    case "Write":
    case "Edit":
    case "MultiEdit":
    case "NotebookEdit":
      return ["write", "low"]
    case "WebFetch":
    case "WebSearch":
      return ["network", "low"]
    case "Read":
    case "Glob":
    case "Grep":
      return ["write", "low"]
    default:
      // Anything unknown may do anything: the class with the strictest rules.
      return mcp(tool) === undefined ? ["shell", "medium"] : ["network", "medium"]
  }
}

/** Whether the input names all files of a call. Only writes are checked. */
const namesAllFiles = (tool: string, input: JsonObject): boolean => {
  switch (tool) {
    case "Write":
    case "Edit":
    case "MultiEdit":
    case "NotebookEdit":
      return hasOnlyKnownWriteFields(input)
    case "Read":
    case "Glob":
    case "Grep":
      return hasOnlyKnownReadFields(input)
    default:
      return true
  }
}

/** Tools that change nothing. */
const readers: ReadonlySet<string> = new Set(["Read", "Glob", "Grep"])

const hunksOf = (tool: string, input: JsonObject): ReadonlyArray<Hunk> => {
  const edits =
    tool === "Edit" ? [input] : tool === "MultiEdit" ? arrayOf(input["edits"]).filter(isJsonObject) : []
  return edits.map((edit) => replacement(textOf(edit["old_string"]) ?? "", textOf(edit["new_string"]) ?? ""))
}

/** Patch with the removed and added text. A `Write` shows a new file, because the earlier content is unknown. */
const patchOf = (tool: string, input: JsonObject, path: string): string | undefined => {
  const content = textOf(input["content"])
  if (tool === "Write" && content !== undefined) return unifiedDiff(path, [replacement("", content)], true)
  const hunks = hunksOf(tool, input)
  return hunks.length === 0 ? undefined : unifiedDiff(path, hunks, false)
}

/**
 * Scopes of a decision, as the runtime's suggestions allow. Without suggestions a decision applies to this run at most. Only the Edge
 * remembers decisions: a revoked grant ends immediately, and every action is recorded.
 */
const scopesOf = (suggestions: ReadonlyArray<unknown>): ReadonlyArray<DecisionScope> => [
  "once",
  "run",
  ...(suggestions.length > 0 ? (["session"] as const) : []),
  ...(suggestions.some((one) => isJsonObject(one) && one["destination"] !== "session")
    ? (["always"] as const)
    : [])
]

/** The approval for a `can_use_tool` request. */
export const toClaudeApproval = (
  request: JsonObject,
  relative: Relative,
  parentCallId?: string
): ApprovalRequest => {
  const tool = textOf(request["tool_name"]) ?? "unknown"
  const input = objectOf(request["input"])
  const isComplete = namesAllFiles(tool, input)
  const [action, risk] = classOf(tool)
  const files = [...new Set(pathsOf(tool, input).map(relative))]
  const [file] = files
  const command = tool === "Bash" ? textOf(input["command"]) : undefined
  return {
    action,
    risk: isComplete ? risk : "high",
    title: claudeCallLabel(tool, input, relative),
    tool,
    ...defined({
      callId: textOf(request["tool_use_id"]),
      parentCallId,
      command,
      // The shell's current folder is unknown.
      cwd: command === undefined ? undefined : ".",
      files: file === undefined ? undefined : files,
      readsOnly: isComplete && file !== undefined && readers.has(tool) ? true : undefined,
      patch: file === undefined ? undefined : patchOf(tool, input, file),
      // Other tools may do anything with an address.
      url: tool === "WebFetch" ? textOf(input["url"]) : undefined,
      reason: textOf(request["decision_reason"]) ?? textOf(input["description"])
    }),
    input,
    editable: true,
    // The same command outside the runtime's sandbox is another action.
    scopes:
      !isComplete || input["dangerouslyDisableSandbox"] === true
        ? ["once"]
        : scopesOf(arrayOf(request["permission_suggestions"]))
  }
}
