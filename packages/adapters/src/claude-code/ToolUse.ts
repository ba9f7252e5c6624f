/**
 * Claude Code's tools as a person meets them: one line for a list, and exactly what an approval would let happen.
 */
import type { ActionClass, ApprovalRequest, DecisionScope, Risk } from "@corral/domain/approval/Approval"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { folderOfPattern, pathsIn } from "../files/InputPaths.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { hasOnlyKnownReadFields, hasOnlyKnownWriteFields } from "../files/KnownFields.ts"
import { replacement, unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"

/** The field that names what a tool reads or writes, where it is not `file_path`. */
const targets: Readonly<Record<string, string>> = {
  NotebookEdit: "notebook_path",
  NotebookRead: "notebook_path",
  Glob: "path",
  Grep: "path",
  LS: "path"
}

/** Every path that a call names, the one that the tool acts on first. */
const pathsOf = (tool: string, input: JsonObject): ReadonlyArray<string> => {
  const target = Object.hasOwn(targets, tool) ? targets[tool] : undefined
  const paths = pathsIn(input, textOf(input[target ?? "file_path"]))
  const folder = tool === "Glob" ? folderOfPattern(input["pattern"]) : undefined
  return folder === undefined ? paths : [...paths, folder]
}

/** `mcp__server__tool` → its server and tool. */
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
    case "AskUserQuestion":
    case "Read":
    case "Glob":
    case "Grep":
      return ["write", "low"]
    case "ExitPlanMode":
      return ["write", "medium"]
    default:
      // Anything unknown may do anything: the class with the strictest rules.
      return mcp(tool) === undefined ? ["shell", "medium"] : ["network", "medium"]
  }
}

/** Whether the input names all files of a call. Only writes are checked. */
const isTold = (tool: string, input: JsonObject): boolean => {
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
    case "AskUserQuestion":
    case "ExitPlanMode":
      // They are about no file: what names one is something else.
      return pathsOf(tool, input).length === 0
    default:
      return true
  }
}

const hunksOf = (tool: string, input: JsonObject): ReadonlyArray<Hunk> => {
  const edits =
    tool === "Edit" ? [input] : tool === "MultiEdit" ? arrayOf(input["edits"]).filter(isJsonObject) : []
  return edits.map((edit) => replacement(textOf(edit["old_string"]) ?? "", textOf(edit["new_string"]) ?? ""))
}

/**
 * The exact text that goes and comes. A `Write` replaces the whole file; what stood there only the disk knows, so it reads as a new one.
 */
const patchOf = (tool: string, input: JsonObject, path: string): string | undefined => {
  const content = textOf(input["content"])
  if (tool === "Write" && content !== undefined) return unifiedDiff(path, [replacement("", content)], true)
  const hunks = hunksOf(tool, input)
  return hunks.length === 0 ? undefined : unifiedDiff(path, hunks, false)
}

/**
 * What may be remembered, as the runtime's own suggestions allow: with none, a decision is for this run at most. The memory itself is the
 * Edge's: the runtime is never told to remember, so that a grant taken back is gone at once and nothing happens unrecorded.
 */
const scopesOf = (suggestions: ReadonlyArray<unknown>): ReadonlyArray<DecisionScope> => [
  "once",
  "run",
  ...(suggestions.length > 0 ? (["session"] as const) : []),
  ...(suggestions.some((one) => isJsonObject(one) && one["destination"] !== "session")
    ? (["always"] as const)
    : [])
]

/** A `can_use_tool` request as an approval. */
export const toClaudeApproval = (request: JsonObject, relative: Relative): ApprovalRequest => {
  const tool = textOf(request["tool_name"]) ?? "unknown"
  const input = objectOf(request["input"])
  const told = isTold(tool, input)
  const [action, risk] = classOf(tool)
  const files = [...new Set(pathsOf(tool, input).map(relative))]
  const [file] = files
  const command = tool === "Bash" ? textOf(input["command"]) : undefined
  return {
    action,
    risk: told ? risk : "high",
    title: claudeCallLabel(tool, input, relative),
    tool,
    ...defined({
      callId: textOf(request["tool_use_id"]),
      command,
      // Its shell may have moved since; the runtime does not tell.
      cwd: command === undefined ? undefined : ".",
      files: file === undefined ? undefined : files,
      patch: file === undefined ? undefined : patchOf(tool, input, file),
      // What another tool does with an address, only its input says.
      url: tool === "WebFetch" ? textOf(input["url"]) : undefined,
      reason: textOf(request["decision_reason"]) ?? textOf(input["description"]) ?? textOf(input["plan"])
    }),
    input,
    editable: true,
    // Outside the runtime's own sandbox the same words are another action.
    scopes:
      !told || input["dangerouslyDisableSandbox"] === true
        ? ["once"]
        : scopesOf(arrayOf(request["permission_suggestions"]))
  }
}
