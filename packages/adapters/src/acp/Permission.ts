/**
 * Permission requests of agents as approvals, and decisions as one of the offered options.
 *
 * Guarantees: never chooses an option that makes the agent remember. Only the Edge remembers decisions, where users can see and revoke them.
 * A request that offers no option for once cannot be allowed.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type {
  ActionClass,
  ApprovalRequest,
  Decision,
  DecisionScope,
  Risk
} from "@corral/domain/approval/Approval"
import {
  endsOfMove,
  folderOfPattern,
  hasOnlyKnownReadFields,
  hasOnlyKnownWriteFields
} from "../files/InputPaths.ts"
import { arrayOf, defined, objectOf, textOf } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesNamedBy, patchOf, hasOnlyPlainDiffs, hasChanges } from "./Changes.ts"
import { acpCallLabel } from "./ToolCalls.ts"
import { readShellCommand, inputPathOf, reasonOf, shownTextOf, type ToolCall } from "./ToolCall.ts"
import type { UnverifiedFields } from "./AcpSchema.ts"

/** The options of a kind, in the agent's order. */
export const optionsOfKind = (
  options: unknown,
  wanted: Acp.PermissionOptionKind
): ReadonlyArray<{ readonly id: string; readonly label: string }> =>
  arrayOf(options).flatMap((entry) => {
    const { kind, name, optionId }: UnverifiedFields<Acp.PermissionOption> = objectOf(entry)
    const id = kind === wanted ? textOf(optionId) : undefined
    return id === undefined ? [] : [{ id, label: textOf(name) ?? id }]
  })

const findOption = (options: unknown, kind: Acp.PermissionOptionKind): string | undefined =>
  optionsOfKind(options, kind)[0]?.id

/** Whether the request can be allowed once. */
export const offersAllowOnce = (options: unknown): boolean => findOption(options, "allow_once") !== undefined

/** The response to a request. Without an option to reject, the call is cancelled, which runs nothing either. */
export const toPermissionResponse = (options: unknown, decision: Decision): Acp.RequestPermissionResponse => {
  const kind = decision === "allow" ? "allow_once" : decision === "deny" ? "reject_once" : undefined
  const optionId = kind === undefined ? undefined : findOption(options, kind)
  return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } }
}

/** Input fields for the folder of a command. */
const FOLDERS = ["cwd", "workdir", "dir_path", "directory"]
/** Input fields of a shell tool that do not change what runs: the command in the folder. */
const HARMLESS = new Set(["command", "description", "timeout", "timeout_ms", "timeoutMs", ...FOLDERS])

/** The folder of a command; `undefined` if unknown. */
const folderOf = (call: ToolCall, { titleIsCommand }: AcpAgent, relative: Relative): string | undefined => {
  for (const key of FOLDERS) {
    const folder = textOf(call.input[key])
    if (folder !== undefined) return relative(folder)
  }
  if (titleIsCommand !== true) return "."
  // The folder is in the text that a user sees. The model writes the rest of that text, so only the workspace itself is trusted.
  const folder = /^\[current working directory (.+?)\]/.exec(shownTextOf(call))?.[1]
  return folder !== undefined && relative(folder) === "." ? "." : undefined
}

const classOf = (call: ToolCall, command: string | undefined): readonly [ActionClass, Risk] => {
  if (command !== undefined) return ["shell", "medium"]
  switch (call.kind) {
    case "edit":
      return ["write", namesAllFiles(call) ? "low" : "high"]
    case "delete":
    case "move":
      return ["write", namesAllFiles(call) ? "medium" : "high"]
    case "read":
    case "search":
      return ["write", readsMore(call) ? "high" : "low"]
    case "fetch":
      return ["network", "low"]
    case "switch_mode":
      return ["write", namesAllFiles(call) ? "medium" : "high"]
    default:
      // Anything unknown may do anything: the class with the strictest rules.
      return ["shell", "medium"]
  }
}

/** Whether the input of a call that reads has fields beyond what is read. */
const readsMore = ({ input }: ToolCall): boolean =>
  !hasOnlyKnownReadFields(input) || folderOfPattern(input["pattern"]) !== undefined

/** Whether changes and input name all files of the call. Locations are hints for an editor: the call may write elsewhere. */
const namesAllFiles = (call: ToolCall): boolean => {
  switch (call.kind) {
    case "move":
      return endsOfMove(call.input) !== undefined && hasOnlyPlainDiffs(call)
    case "switch_mode":
      // A change of mode has no files. A call that names a file does something else.
      return namesNoFile(call)
    case "read":
    case "search":
      return !readsMore(call) && (hasChanges(call) || inputPathOf(call) !== undefined)
    default:
      return (
        hasOnlyKnownWriteFields(call.input) &&
        hasOnlyPlainDiffs(call) &&
        (hasChanges(call) || inputPathOf(call) !== undefined)
      )
  }
}

/** Whether the call only reads the files that it names. */
const readsNamedFiles = (call: ToolCall, command: string | undefined): boolean =>
  command === undefined &&
  (call.kind === "read" || call.kind === "search") &&
  namesAllFiles(call) &&
  !hasChanges(call)

const namesNoFile = (call: ToolCall): boolean => filesNamedBy(call, (path) => path).length === 0

/** Whether command, files or address are the whole effect of the call. */
const isComplete = (
  call: ToolCall,
  { notes = [] }: AcpAgent,
  command: string | undefined,
  folder: string | undefined
): boolean => {
  if (command !== undefined) {
    const isHarmless = (key: string) => HARMLESS.has(key) || notes.includes(key)
    return folder !== undefined && Object.keys(call.input).every(isHarmless)
  }
  return ["edit", "delete", "move", "switch_mode", "read", "search"].includes(call.kind)
    ? namesAllFiles(call)
    : true
}

/** Whether the call does something beyond asking, reading and thinking. */
export const isAction = (call: ToolCall, agent: AcpAgent): boolean =>
  ["edit", "delete", "move", "execute", "fetch"].includes(call.kind) ||
  hasChanges(call) ||
  readShellCommand(call, agent) !== undefined

const scopesOf = (options: unknown, isWhole: boolean): ReadonlyArray<DecisionScope> =>
  isWhole && findOption(options, "allow_always") !== undefined
    ? ["once", "run", "session", "always"]
    : ["once"]

/** The approval for a `session/request_permission`. */
export const toAcpApproval = (
  call: ToolCall,
  options: unknown,
  agent: AcpAgent,
  relative: Relative
): ApprovalRequest => {
  const command = readShellCommand(call, agent)
  const cwd = command === undefined ? undefined : folderOf(call, agent, relative)
  const [action, risk] = classOf(call, command)
  // An agent can only guess the files of a command.
  const files = command === undefined ? filesNamedBy(call, relative) : []
  const hasInput = Object.keys(call.input).length > 0
  return defined({
    action,
    risk,
    title: acpCallLabel(call, agent, relative),
    tool: call.tool,
    callId: call.callId,
    parentCallId: call.parentCallId,
    command,
    cwd,
    files: files.length === 0 ? undefined : files,
    readsOnly: readsNamedFiles(call, command) && files.length > 0 ? true : undefined,
    patch: command === undefined ? patchOf(call, relative) : undefined,
    url: call.kind === "fetch" ? textOf(call.input["url"]) : undefined,
    input: hasInput ? call.input : undefined,
    reason: reasonOf(call),
    editable: false,
    scopes: scopesOf(options, isComplete(call, agent, command, cwd))
  })
}
