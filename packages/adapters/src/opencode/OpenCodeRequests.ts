/**
 * Requests of OpenCode to people: permissions as approvals, from the input of the call that needs one, and questions as input requests, with their
 * answers as the texts that it takes for each question. Also requests to its server, as lines for the bridge (`runtime/opencode-bridge.mjs`).
 *
 * Guarantees: a question that no person answered receives a sentence and never one of its options.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse, RunImage } from "@corral/domain/run/RuntimeAdapter"
import type { Relative } from "../files/RelativePath.ts"
import { toToolApproval } from "../one-shot/Tools.ts"
import { titleLine } from "../text/FirstLine.ts"
import { type JsonObject, arrayOf, defined, isJsonObject, objectOf, textOf, textsIn } from "../text/Json.ts"
import { openCodePatch } from "./MessageParts.ts"

/** The Edge remembers decisions, never OpenCode. */
const scopes = ["once", "run", "session", "always"] as const

interface WaitingPermission {
  readonly callId?: string | undefined
  readonly parentCallId?: string | undefined
  readonly call?: { readonly tool: string; readonly input: JsonObject } | undefined
}

/** The tool of a permission whose call is not known: most permissions have the name of their tool. */
const toolOf = (permission: string): string => (permission === "edit" ? "write" : permission)

const patchOfFiles = (files: ReadonlyArray<JsonObject>, relative: Relative): string | undefined => {
  const patches = files.flatMap((file) => {
    const absolute = textOf(file["filePath"])
    return absolute === undefined ? [] : (openCodePatch(file["patch"], absolute, relative(absolute)) ?? [])
  })
  return patches.length === 0 ? undefined : patches.join("")
}

/** A patch for several files. The program names the files of each change, moved ones too. */
const toPatchApproval = (
  reported: ReadonlyArray<JsonObject>,
  { call, ...ids }: WaitingPermission,
  relative: Relative
): ApprovalRequest => {
  const paths = [...textsIn(reported, "filePath"), ...textsIn(reported, "movePath")]
  const files = [...new Set(paths.map(relative))]
  return {
    action: "write",
    risk: "low",
    title: titleLine(`Edit ${files.join(", ")}`),
    tool: call?.tool ?? "apply_patch",
    files,
    ...defined({ ...ids, patch: patchOfFiles(reported, relative) }),
    input: call?.input ?? {},
    editable: false,
    scopes
  }
}

/** Permission requests of OpenCode as approvals, from the input of the call that needs it. */
export const toOpenCodeApproval = (
  request: JsonObject,
  waiting: WaitingPermission,
  relative: Relative
): ApprovalRequest => {
  const permission = textOf(request["permission"]) ?? "unknown"
  const metadata = objectOf(request["metadata"])
  const patched = arrayOf(metadata["files"]).filter(isJsonObject)
  if (permission === "edit" && patched.length > 0) return toPatchApproval(patched, waiting, relative)
  const { call, ...ids } = waiting
  const file = textOf(metadata["filepath"])
  const patch =
    permission === "edit" && file !== undefined
      ? openCodePatch(metadata["diff"], file, relative(file))
      : undefined
  const approval = toToolApproval(
    { tool: call?.tool ?? toolOf(permission), input: call?.input ?? metadata, ...ids, patch, scopes },
    relative
  )
  if (permission !== "external_directory") return approval
  const folders = arrayOf(request["patterns"]).filter((pattern) => typeof pattern === "string")
  return { ...approval, title: titleLine(`Use ${folders.join(", ")} for: ${approval.title}`) }
}

const toQuestion = (reported: JsonObject, at: number): Question => {
  const options = arrayOf(reported["options"])
    .filter(isJsonObject)
    .map((option, index) =>
      defined({
        id: String(index),
        label: textOf(option["label"]) ?? "",
        description: textOf(option["description"])
      })
    )
  return {
    id: String(at),
    text: textOf(reported["question"]) ?? "",
    ...defined({ header: textOf(reported["header"]) }),
    ...(options.length === 0
      ? { kind: "text" as const }
      : {
          kind: "choice" as const,
          options,
          ...(reported["multiple"] === true ? { multiple: true } : {}),
          ...(reported["custom"] === false ? {} : { allowsOther: true })
        })
  }
}

/** Questions of OpenCode as an input request. */
export const toOpenCodeInput = (
  reported: unknown,
  callId: string | undefined,
  parentCallId: string | undefined
): RequestedInput => {
  const questions = arrayOf(reported).map((question, at) => toQuestion(objectOf(question), at))
  return {
    kind: "question",
    title: questions[0]?.text ?? "The agent asks a question",
    questions,
    ...defined({ callId, parentCallId })
  }
}

const textsOf = (question: Question, answers: InputAnswers): ReadonlyArray<string> => {
  const answer = answers[question.id]
  const values = Array.isArray(answer) ? answer : answer === undefined ? [] : [answer]
  return values.flatMap((value: unknown) => {
    const other = textOf(objectOf(value)["other"])
    if (other !== undefined) return [other]
    if (typeof value !== "string") return value === undefined ? [] : [String(value)]
    return question.options === undefined
      ? [value]
      : (question.options.find(({ id }) => id === value)?.label ?? [])
  })
}

/** The texts for each question, in their order. */
export const toOpenCodeAnswers = (
  { questions = [] }: RequestedInput,
  response: InputResponse
): ReadonlyArray<ReadonlyArray<string>> => {
  const unanswered = (reason: string) => [`Not answered: ${reason}`]
  switch (response._tag) {
    case "Answered":
      return questions.map((question) => {
        const texts = textsOf(question, response.answers)
        return texts.length === 0
          ? unanswered(response.comment ?? "The user left this question open.")
          : texts
      })
    case "Unanswered":
      return questions.map(() => unanswered(response.reason))
    default:
      return questions.map(() => unanswered(response.comment ?? "The user did not answer."))
  }
}

interface BridgeRequest {
  readonly id: string
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: object
}

const line = (request: BridgeRequest): string => `${JSON.stringify(request)}\n`

const post = (id: string, path: string, body: object = {}): string => line({ id, method: "POST", path, body })

/** Ids of the requests whose responses matter. */
export const SESSION_REQUEST = "session"
export const PROMPT_REQUEST = "prompt"

/** Opens a conversation: a new one, or an earlier one. */
export const openSession = (resumeSessionId: string | undefined): string =>
  resumeSessionId === undefined
    ? post(SESSION_REQUEST, "/session")
    : line({ id: SESSION_REQUEST, method: "GET", path: `/session/${encodeURIComponent(resumeSessionId)}` })

/** `provider/model`; the model's own name may contain more slashes. */
const modelOf = (model: string | undefined): object => {
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/s.exec(model ?? "") ?? []
  return providerID === undefined ? {} : { model: { providerID, modelID } }
}

export interface PromptMessage {
  readonly text: string
  readonly images?: ReadonlyArray<RunImage> | undefined
  readonly model?: string | undefined
  readonly agent: string
}

/** Sends a message of the user to a session. */
export const sendPrompt = (session: string, { agent, images = [], model, text }: PromptMessage): string =>
  post(PROMPT_REQUEST, `/session/${encodeURIComponent(session)}/prompt_async`, {
    agent,
    ...modelOf(model),
    parts: [
      { type: "text", text },
      ...images.map(({ base64, mediaType, path }) => ({
        type: "file",
        mime: mediaType,
        filename: path.slice(path.lastIndexOf("/") + 1),
        url: `data:${mediaType};base64,${base64}`
      }))
    ]
  })

/** Stops the turn of a session. */
export const abortSession = (session: string): string =>
  post("abort", `/session/${encodeURIComponent(session)}/abort`)

/** Allows one call. OpenCode does not remember it: only the Edge remembers decisions. */
export const allowPermission = (key: string): string =>
  post("permission", `/permission/${encodeURIComponent(key)}/reply`, { reply: "once" })

/** Rejects one call. With a message the model continues; without one its turn ends. */
export const rejectPermission = (key: string, message: string | undefined): string =>
  post("permission", `/permission/${encodeURIComponent(key)}/reply`, {
    reply: "reject",
    ...(message === undefined ? {} : { message })
  })

/** The chosen texts of each question, in their order. */
export const answerQuestion = (key: string, answers: ReadonlyArray<ReadonlyArray<string>>): string =>
  post("question", `/question/${encodeURIComponent(key)}/reply`, { answers })

/** Rejects a question. The turn ends. */
export const rejectQuestion = (key: string): string =>
  post("question", `/question/${encodeURIComponent(key)}/reject`)
