/**
 * What Codex asks a person, as input requests, and the responses to it.
 *
 * Guarantees: order and labels are Codex's, and nothing is selected in advance. Without an answer of a person the response has no option: a form
 * is declined, and the other questions have no answers.
 * Does not: open an address.
 */
import type { AnswerValue, InputAnswers, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { readElicitation } from "../form/Elicitation.ts"
import { planTitleOf, titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, objectOf, textOf, type JsonObject } from "../text/Json.ts"

/** A question of Codex that waits for a response, and the result of the response. */
export interface CodexInput {
  readonly request: RequestedInput
  readonly result: (response: InputResponse) => object
  /** Whether the result without an answer says that there is none. */
  readonly canDecline: boolean
}

const USER_INPUT = "item/tool/requestUserInput"
const ELICITATION = "mcpServer/elicitation/request"

/** Result of a request for input that no person answers; `undefined` for other requests. */
export const unansweredResult = (method: string): object | undefined => {
  if (method === USER_INPUT) return { answers: {} }
  return method === ELICITATION ? { action: "decline", content: null, _meta: null } : undefined
}

/** Longest label that is an option's id. */
const MAX_ID = 200

const optionsOf = (options: unknown): NonNullable<Question["options"]> => {
  const ids = new Set<string>()
  return arrayOf(options).flatMap((option, at) => {
    const label = textOf(option) ?? textOf(objectOf(option)["label"])
    if (label === undefined) return []
    const id = label.length > MAX_ID || ids.has(label) ? `option-${at + 1}` : label
    ids.add(id)
    return [{ id, label, ...defined({ description: textOf(objectOf(option)["description"]) }) }]
  })
}

const kindOf = (
  options: unknown,
  allowsOther: boolean
): Pick<Question, "kind" | "options" | "allowsOther"> => {
  const choices = optionsOf(options)
  if (choices.length === 0) return { kind: "text" }
  return { kind: "choice", options: choices, ...(allowsOther ? { allowsOther } : {}) }
}

/** The texts of an answer: labels of options, and a text of the person. */
const textsOf = ({ options = [] }: Question, value: AnswerValue | undefined): ReadonlyArray<string> =>
  [value].flat().flatMap((part) => {
    if (typeof part === "string") return [options.find(({ id }) => id === part)?.label ?? part]
    return typeof part === "object" && "other" in part ? [part.other] : []
  })

const answerIn = (answers: InputAnswers, { id }: Question): AnswerValue | undefined =>
  Object.hasOwn(answers, id) ? answers[id] : undefined

const toolQuestions = (params: JsonObject): ReadonlyArray<Question> =>
  arrayOf(params["questions"]).flatMap((entry, at) => {
    const { header, id, isOther, isSecret, options, question } = objectOf(entry)
    const text = textOf(question) ?? textOf(header)
    if (text === undefined) return []
    return [
      {
        id: textOf(id) ?? `${at + 1}`,
        text,
        ...kindOf(options, isOther === true),
        ...defined({ header: textOf(header), secret: isSecret === true ? true : undefined })
      }
    ]
  })

/** Codex's own clients send a remark as a further answer with this mark. */
const noteOf = (comment: string | undefined): ReadonlyArray<string> =>
  comment === undefined || comment === "" ? [] : [`user_note: ${comment}`]

const toolInput = (params: JsonObject): CodexInput | undefined => {
  const questions = toolQuestions(params)
  const [first] = questions
  if (first === undefined) return undefined
  return {
    request: {
      kind: "question",
      title: titleLine(first.text),
      questions,
      ...defined({ callId: textOf(params["itemId"]) })
    },
    result: (response) => {
      if (response._tag !== "Answered") return { answers: {} }
      const { answers, comment } = response
      return {
        answers: Object.fromEntries(
          questions.map((question) => [
            question.id,
            {
              answers: [
                ...textsOf(question, answerIn(answers, question)),
                ...(question === first ? noteOf(comment) : [])
              ]
            }
          ])
        )
      }
    },
    canDecline: false
  }
}

const FORMS: ReadonlyArray<unknown> = ["form", "openai/form", "openaiForm", undefined]

const elicitationInput = (params: JsonObject): CodexInput | undefined => {
  // Approvals of Codex itself have the same method.
  if (objectOf(params["_meta"])["codex_approval_kind"] !== undefined) return undefined
  const message = textOf(params["message"]) ?? `${textOf(params["serverName"]) ?? "A server"} asks for input.`
  const { mode, requestedSchema: schema, url } = params
  if (mode !== "url" && !FORMS.includes(mode)) return undefined
  const elicitation = readElicitation({ message, mode, schema, url })
  if (elicitation === undefined) return undefined
  return {
    request: elicitation.request,
    result: (response) => ({ content: null, _meta: null, ...elicitation.toResponse(response) }),
    canDecline: true
  }
}

/** The question of a request; `undefined` if a person cannot answer it. */
export const toCodexInput = (method: string, params: JsonObject): CodexInput | undefined => {
  if (method === USER_INPUT) return toolInput(params)
  return method === ELICITATION ? elicitationInput(params) : undefined
}

/** The questions that a message of the agent leaves to the user. Their ids are unique within the message. */
export const questionsInMessage = (item: JsonObject): ReadonlyArray<Question> =>
  arrayOf(item["questions"]).flatMap((entry, at): ReadonlyArray<Question> => {
    const { options, title } = objectOf(entry)
    const text = textOf(title)
    return text === undefined ? [] : [{ id: `${at + 1}`, text, ...kindOf(options, true) }]
  })

/** The request with all questions that the messages of a turn left to the user; `undefined` without a question. */
export const requestOfMessages = (questions: ReadonlyArray<Question>): RequestedInput | undefined => {
  const [first] = questions
  if (first === undefined) return undefined
  const numbered = questions.map((question, at) => ({ ...question, id: `${at + 1}` }))
  return { kind: "question", title: titleLine(first.text), questions: numbered, startsTurn: true }
}

/** The plan that ends a turn in the plan mode. */
export const planRequest = (plan: string): RequestedInput => ({
  kind: "plan",
  title: planTitleOf(plan),
  plan,
  startsTurn: true
})

const parts = (...texts: ReadonlyArray<string | undefined>): string =>
  texts.filter((text) => text !== undefined && text !== "").join("\n\n")

/**
 * The message that starts the next turn with the response to a question that ended the turn; `undefined` if there is no answer, or if the run ends
 * with its plan.
 */
export const messageOfResponse = (
  { questions = [] }: RequestedInput,
  response: InputResponse
): string | undefined => {
  switch (response._tag) {
    case "Answered": {
      const { answers, comment } = response
      const answered = questions.map((question) => {
        const text = textsOf(question, answerIn(answers, question)).join(", ")
        return questions.length === 1 ? text : `${question.text}\n${text}`
      })
      return parts(...answered, comment)
    }
    case "PlanApproved":
      return response.endsRun ? undefined : parts("The plan is approved. Carry it out.", response.comment)
    case "PlanReturned":
      return parts("The plan is not approved. Revise it.", response.comment)
    case "Unanswered":
      return undefined
  }
}
