/**
 * A permission that an agent asks for, as an approval; and a decision as one of the options that the agent offers.
 *
 * The agent is never told to remember: what lasts is the Edge's memory, where it can be seen and taken back. So only options for once are chosen,
 * and a request that can only be granted for always cannot be granted.
 */
import type {
  ActionClass,
  ApprovalRequest,
  Decision,
  DecisionScope,
  Risk
} from "@corral/domain/approval/Approval"
import { folderOfPattern } from "../files/InputPaths.ts"
import { arrayOf, defined, isJsonObject, textOf, type JsonObject } from "../text/Json.ts"
import type { Relative } from "../files/RelativePath.ts"
import { endsOfMove, hasOnlyKnownReadFields, hasOnlyKnownWriteFields } from "../files/KnownFields.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import { filesNamedBy, patchOf, showsOnlyChanges, hasChanges } from "./Changes.ts"
import { acpCallLabel } from "./Label.ts"
import { readShellCommand, inputPathOf, reasonOf, shownTextOf, type ToolCall } from "./ToolCall.ts"

type OptionKind = "allow_once" | "allow_always" | "reject_once"

const optionOf = (options: unknown, kind: OptionKind): string | undefined => {
  for (const option of arrayOf(options)) {
    const id = isJsonObject(option) && option["kind"] === kind ? textOf(option["optionId"]) : undefined
    if (id !== undefined) return id
  }
  return undefined
}

/** Whether an allow can be told. */
export const offersAllowOnce = (options: unknown): boolean => optionOf(options, "allow_once") !== undefined

/** The answer to a request. Without an option that says no, the call is cancelled, which runs nothing either. */
export const toPermissionAnswer = (options: unknown, decision: Decision): JsonObject => {
  const kind = decision === "allow" ? "allow_once" : decision === "deny" ? "reject_once" : undefined
  const optionId = kind === undefined ? undefined : optionOf(options, kind)
  return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } }
}

/** The ways in which a call may say its folder. */
const FOLDERS = ["cwd", "workdir", "dir_path", "directory"]
/** What else a shell tool's input may hold without running something else than the command in the folder. */
const HARMLESS = new Set(["command", "description", "timeout", "timeout_ms", "timeoutMs", ...FOLDERS])

/** The folder of a command; `undefined` if unknown. */
const folderOf = (call: ToolCall, { titleIsCommand }: AcpAgent, relative: Relative): string | undefined => {
  for (const key of FOLDERS) {
    const told = textOf(call.input[key])
    if (told !== undefined) return relative(told)
  }
  if (titleIsCommand !== true) return "."
  // Told in words that a person is shown. The model writes what follows them, and the folder itself unless it is the agent's own.
  const own = /^\[current working directory (.+?)\]/.exec(shownTextOf(call))?.[1]
  return own !== undefined && relative(own) === "." ? "." : undefined
}

const classOf = (call: ToolCall, command: string | undefined): readonly [ActionClass, Risk] => {
  if (command !== undefined) return ["shell", "medium"]
  switch (call.kind) {
    case "edit":
      return ["write", isTold(call) ? "low" : "high"]
    case "delete":
    case "move":
      return ["write", isTold(call) ? "medium" : "high"]
    case "read":
    case "search":
      return ["write", readsMore(call) ? "high" : "low"]
    case "fetch":
      return ["network", "low"]
    case "switch_mode":
      return ["write", isTold(call) ? "medium" : "high"]
    default:
      // Anything unknown may do anything: the class with the strictest rules.
      return ["shell", "medium"]
  }
}

/** Whether the input of a call that reads holds more than what is read. */
const readsMore = ({ input }: ToolCall): boolean =>
  !hasOnlyKnownReadFields(input) || folderOfPattern(input["pattern"]) !== undefined

/** Whether changes and the input say all files that it is about. Locations are hints for an editor: it may write elsewhere too. */
const isTold = (call: ToolCall): boolean => {
  switch (call.kind) {
    case "move":
      return endsOfMove(call.input) !== undefined && showsOnlyChanges(call)
    case "switch_mode":
      // A mode is no file: what names one is something else.
      return namesNothing(call)
    case "read":
    case "search":
      return !readsMore(call) && (hasChanges(call) || inputPathOf(call) !== undefined)
    default:
      return (
        hasOnlyKnownWriteFields(call.input) &&
        showsOnlyChanges(call) &&
        (hasChanges(call) || inputPathOf(call) !== undefined)
      )
  }
}

const namesNothing = (call: ToolCall): boolean => filesNamedBy(call, (path) => path).length === 0

/** Whether command, files or address are all that would happen. */
const saysAll = (
  call: ToolCall,
  { notes = [] }: AcpAgent,
  command: string | undefined,
  folder: string | undefined
): boolean => {
  if (command !== undefined) {
    const isHarmless = (key: string) => HARMLESS.has(key) || notes.includes(key)
    return folder !== undefined && Object.keys(call.input).every(isHarmless)
  }
  return ["edit", "delete", "move", "switch_mode", "read", "search"].includes(call.kind) ? isTold(call) : true
}

const scopesOf = (options: unknown, whole: boolean): ReadonlyArray<DecisionScope> =>
  whole && optionOf(options, "allow_always") !== undefined ? ["once", "run", "session", "always"] : ["once"]

/** A `session/request_permission` as an approval. */
export const toAcpApproval = (
  call: ToolCall,
  options: unknown,
  agent: AcpAgent,
  relative: Relative
): ApprovalRequest => {
  const command = readShellCommand(call, agent)
  const cwd = command === undefined ? undefined : folderOf(call, agent, relative)
  const [action, risk] = classOf(call, command)
  // What a command touches only its own words say; what an agent guesses of it is none of them.
  const files = command === undefined ? filesNamedBy(call, relative) : []
  const known = Object.keys(call.input).length > 0
  return defined({
    action,
    risk,
    title: acpCallLabel(call, agent, relative),
    tool: call.tool,
    callId: call.callId,
    command,
    cwd,
    files: files.length === 0 ? undefined : files,
    patch: command === undefined ? patchOf(call, relative) : undefined,
    url: call.kind === "fetch" ? textOf(call.input["url"]) : undefined,
    input: known ? call.input : undefined,
    reason: reasonOf(call),
    editable: false,
    scopes: scopesOf(options, saysAll(call, agent, command, cwd))
  })
}
