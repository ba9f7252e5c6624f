/**
 * Approval of a call of a built-in tool of these programs: the command, the file or the address, and the patch, from the call's input.
 */
import type { ActionClass, ApprovalRequest, DecisionScope, Risk } from "@corral/domain/approval/Approval"
import { hasOnlyKnownReadFields, hasOnlyKnownWriteFields } from "../files/KnownFields.ts"
import type { Relative } from "../files/RelativePath.ts"
import { defined, textOf, type JsonObject } from "../text/Json.ts"
import { replacement, unifiedDiff } from "../text/UnifiedDiff.ts"
import { toolKindOf, toolLabel, toolPathsOf } from "./Tools.ts"

/** A call that waits for a decision. */
export interface WaitingCall {
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
