/**
 * Permission requests of agents as approvals, and decisions as one of the offered options. Some requests are questions: the options are answers, or the
 * agent sends its questions with the request.
 *
 * Guarantees: never chooses an option that makes the agent remember. Only the Edge remembers decisions, where users can see and revoke them.
 * A request that offers no option for once cannot be allowed. A question without an answer of a person receives the option that rejects once, or
 * `cancelled`. It never receives an answer.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import type {
  ActionClass,
  ApprovalRequest,
  Decision,
  DecisionScope,
  Risk
} from "@corral/domain/approval/Approval"
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import {
  endsOfMove,
  folderOfPattern,
  hasOnlyKnownReadFields,
  hasOnlyKnownWriteFields
} from "../files/InputPaths.ts"
import type { Relative } from "../files/RelativePath.ts"
import { readElicitation } from "../form/Elicitation.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, objectOf, textOf } from "../text/Json.ts"
import type { AcpAgent } from "./AcpAgent.ts"
import type { AgentQuestion, AnsweredPermission, QuestionMeta, UnverifiedFields } from "./AcpSchema.ts"
import { filesNamedBy, hasChanges, hasOnlyPlainDiffs, patchOf } from "./Changes.ts"
import { type ToolCall, inputPathOf, readShellCommand, reasonOf, shownTextOf } from "./ToolCall.ts"
import { acpCallLabel } from "./ToolCalls.ts"
import type { OpenQuestion } from "./WaitingRequests.ts"

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

// Elicitation of an agent of ACP, as an input request.

export type ElicitationParams = UnverifiedFields<Acp.CreateElicitationRequest & Acp.ElicitationSessionScope>

/** An input request, and what is kept for its response. */
export interface AcpInput {
  readonly request: RequestedInput
  readonly question: Omit<OpenQuestion, "id">
}

/** The request of an elicitation; `undefined` if its mode or a field of its form is unknown. */
export const toAcpInput = (params: ElicitationParams, parentCallId?: string): AcpInput | undefined => {
  const { mode, requestedSchema: schema, url } = params
  if (mode !== "url" && ((mode !== undefined && mode !== "form") || !isJsonObject(schema))) return undefined
  const message = textOf(params.message) ?? "The agent asks for input."
  const elicitation = readElicitation({ message, mode, schema, url })
  if (elicitation === undefined) return undefined
  const linkId = mode === "url" ? textOf(params.elicitationId) : undefined
  return {
    request: { ...elicitation.request, ...defined({ callId: textOf(params.toolCallId), parentCallId }) },
    question: { toResult: elicitation.toResponse, ...defined({ linkId }) }
  }
}

/** Id of the only question, if the options are the answers. */
const CHOICE = "choice"

const inputOf = (call: ToolCall, questions: ReadonlyArray<Question>, title: string): AcpInput["request"] => ({
  kind: "question",
  title: titleLine(title),
  questions,
  callId: call.callId,
  ...defined({ parentCallId: call.parentCallId })
})

/** A choice between the options that allow once, in the agent's order. */
const askChoice = (call: ToolCall, options: unknown): AcpInput => {
  const choices = optionsOfKind(options, "allow_once")
  const text = questionIn(call) ?? (shownTextOf(call) || call.title)
  const question: Question = { id: CHOICE, text, kind: "choice", options: choices }
  const toResult = (response: InputResponse): Acp.RequestPermissionResponse => {
    const optionId = response._tag === "Answered" ? response.answers[CHOICE] : undefined
    return choices.some(({ id }) => id === optionId) && typeof optionId === "string"
      ? { outcome: { outcome: "selected", optionId } }
      : toPermissionResponse(options, "deny")
  }
  return { request: inputOf(call, [question], text), question: { toResult, callId: call.callId } }
}

/** The question in the input of a call, as the model wrote it. */
const questionIn = ({ input }: ToolCall): string | undefined => {
  const [first] = arrayOf(input["questions"])
  return textOf(objectOf(first)["question"]) ?? textOf(input["question"])
}

/** A question as a model wrote it. Its id is its number. */
export const readAgentQuestion = (entry: unknown, at: number): Question => {
  const { header, multiSelect, options, question }: UnverifiedFields<AgentQuestion> = objectOf(entry)
  const choices = arrayOf(options).flatMap((option) => {
    const { description, label }: UnverifiedFields<AgentQuestion["options"][number]> = objectOf(option)
    const id = textOf(label)
    return id === undefined ? [] : [{ id, label: id, ...defined({ description: textOf(description) }) }]
  })
  const base = { id: `${at}`, text: textOf(question) ?? "", ...defined({ header: textOf(header) }) }
  if (choices.length === 0) return { ...base, kind: "text" }
  return {
    ...base,
    kind: "choice",
    options: choices,
    allowsOther: true,
    ...(multiSelect === true ? { multiple: true } : {})
  }
}

const answerText = (value: AnswerValue): string => {
  if (Array.isArray(value)) return value.map(answerText).join(", ")
  return typeof value === "object" ? (textOf(objectOf(value)["other"]) ?? "") : String(value)
}

const answersOf = (questions: ReadonlyArray<Question>, answers: InputAnswers): Record<string, string> =>
  Object.fromEntries(
    questions.flatMap(({ id }) => {
      const value = Object.hasOwn(answers, id) ? answers[id] : undefined
      return value === undefined ? [] : [[id, answerText(value)]]
    })
  )

/** Questions in `_meta` of the request. The answers go with the response. */
const askQuestions = (call: ToolCall, options: unknown, entries: ReadonlyArray<unknown>): AcpInput => {
  const questions = entries.map(readAgentQuestion)
  const toResult = (response: InputResponse): AnsweredPermission | Acp.RequestPermissionResponse =>
    response._tag === "Answered"
      ? { ...toPermissionResponse(options, "allow"), answers: answersOf(questions, response.answers) }
      : toPermissionResponse(options, "deny")
  const [first] = questions
  const title = questions.length === 1 && first !== undefined ? first.text : call.title
  return { request: inputOf(call, questions, title), question: { toResult, callId: call.callId } }
}

/** The question of a permission request; `undefined` if it is about an action. */
export const readQuestionIn = (call: ToolCall, options: unknown): AcpInput | undefined => {
  const { qwenInteractionKind, qwenQuestions }: UnverifiedFields<QuestionMeta> = call.meta
  const entries = arrayOf(qwenQuestions)
  if (qwenInteractionKind === "user_question" && entries.length > 0)
    return askQuestions(call, options, entries)
  return optionsOfKind(options, "allow_once").length > 1 ? askChoice(call, options) : undefined
}
