/**
 * Requests of OpenCode to people: permissions as approvals, from the input of the call that needs one, and questions as input requests, with their
 * answers as the texts that it takes for each question.
 *
 * Guarantees: a question that no person answered receives a sentence and never one of its options.
 */
import type { Relative } from "../files/RelativePath.ts"
import { toToolApproval } from "../one-shot/Tools.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, type JsonObject, objectOf, textOf, textsIn } from "../text/Json.ts"
import { openCodePatch } from "./MessageParts.ts"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"

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
