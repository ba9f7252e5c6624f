/**
 * What Qwen Code asks to do: the command, the file, the text that would go and come, as an approval shows it.
 */
import type { ActionClass, ApprovalRequest, Risk } from "@corral/domain/approval/Approval"
import { defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { toolKindOf, toolLabel, toolPathsOf } from "../one-shot/Tools.ts"
import { hasOnlyKnownReadFields, hasOnlyKnownWriteFields } from "../files/KnownFields.ts"
import { replacement, unifiedDiff } from "../text/UnifiedDiff.ts"

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

/** Whether the input names all files of a call. Only writes are checked. */
const namesAllFiles = (tool: string, input: JsonObject): boolean => {
  switch (toolKindOf(tool)) {
    case "write":
    case "edit":
      return hasOnlyKnownWriteFields(input)
    case "read":
    case "search":
      return hasOnlyKnownReadFields(input)
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
  const [before, after] = [textOf(input["old_string"]), textOf(input["new_string"])]
  return toolKindOf(tool) === "edit" && (before !== undefined || after !== undefined)
    ? unifiedDiff(path, [replacement(before ?? "", after ?? "")], false)
    : undefined
}

/** The approval for a `can_use_tool` request. The runtime cannot remember decisions, so a decision applies to this run at most. */
export const toQwenApproval = (request: JsonObject, relative: (path: string) => string): ApprovalRequest => {
  const tool = textOf(request["tool_name"]) ?? "unknown"
  const input = objectOf(request["input"])
  const isComplete = namesAllFiles(tool, input)
  const [action, risk] = classOf(tool)
  const command = toolKindOf(tool) === "shell" ? textOf(input["command"]) : undefined
  const files = command === undefined ? [...new Set(toolPathsOf(tool, input).map(relative))] : []
  const [file] = files
  return {
    action,
    risk: isComplete ? risk : "high",
    title: toolLabel(tool, input, relative),
    tool,
    ...defined({
      callId: textOf(request["tool_use_id"]),
      command,
      cwd: command === undefined ? undefined : relative(textOf(input["directory"]) ?? "."),
      files: file === undefined ? undefined : files,
      readsOnly: isComplete && file !== undefined && isReader(tool) ? true : undefined,
      patch: file === undefined ? undefined : patchOf(tool, input, file),
      url: toolKindOf(tool) === "fetch" ? textOf(input["url"]) : undefined,
      reason: textOf(input["description"])
    }),
    input,
    editable: false,
    scopes: isComplete ? ["once", "run"] : ["once"]
  }
}
