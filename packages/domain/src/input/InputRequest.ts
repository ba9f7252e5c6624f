/**
 * Input request: something that an agent asks a person, such as a question, a form or a plan. A durable row.
 *
 * An approval is about an action; an input request is about knowledge. No explicit answer of a person means no answer: no mode, grant, default
 * or timer answers. The first valid answer wins.
 */
import { Schema } from "effect"
import { DecisionOrigin } from "../approval/Approval.ts"
import { AgentId, InputRequestId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { RunMode } from "../approval/RunMode.ts"
import { isJsonObject } from "../text/JsonObject.ts"
import { SealedValue } from "./SealedValue.ts"

const text = Schema.String
const optionalText = Schema.optionalKey(Schema.String)
const flag = Schema.optionalKey(Schema.Boolean)
const number = Schema.optionalKey(Schema.Finite)

/** Bounds of one request. An adapter reports what is beyond them in a notice. */
export const MAX_QUESTIONS = 32
export const MAX_OPTIONS = 64
/** Longest plan and longest text of one answer, in characters. */
export const MAX_INPUT_TEXT = 65_536

/** One choice of a question, as the program offers it. */
export const QuestionOption = Schema.Struct({ id: text, label: text, description: optionalText }).annotate({
  identifier: "QuestionOption"
})
export type QuestionOption = typeof QuestionOption.Type

/**
 * One question. The program's order and labels are kept. A default or a recommendation is text: nothing is selected in advance.
 * `format` is the format of a text as in JSON Schema, such as `email` or `date`.
 */
export const Question = Schema.Struct({
  id: text,
  text,
  header: optionalText,
  kind: Schema.Literals(["choice", "text", "number", "boolean"]),
  options: Schema.optionalKey(Schema.Array(QuestionOption)),
  /** Whether more than one option can be chosen. */
  multiple: flag,
  /** Whether a text of the person can replace or complete the options. */
  allowsOther: flag,
  required: flag,
  /** Whether clients hide the answer and send it sealed. */
  secret: flag,
  integer: flag,
  min: number,
  max: number,
  format: optionalText
}).annotate({ identifier: "Question" })
export type Question = typeof Question.Type

export const InputKind = Schema.Literals(["question", "plan", "link"])
export type InputKind = typeof InputKind.Type

/** What the program asks. A `link` shows an address, which Corral never opens. */
export const RequestedInput = Schema.Struct({
  kind: InputKind,
  /** One line for a list. */
  title: text,
  questions: Schema.optionalKey(Schema.Array(Question).check(Schema.isMaxLength(MAX_QUESTIONS))),
  /** Markdown. A plan that is longer than `MAX_INPUT_TEXT` is cut, and an artifact of the run has the whole. */
  plan: optionalText,
  url: optionalText,
  /** The tool call that asks. */
  callId: optionalText,
  /** The tool call of the sub-agent that asks. */
  parentCallId: optionalText,
  /** Whether the program has ended its turn with the question: the answer is the input of the next turn. */
  startsTurn: Schema.optionalKey(Schema.Literal(true)),
  /** Public key for secret answers: an uncompressed P-256 point as base64url. Present if a question is secret. */
  sealingKey: optionalText
}).annotate({ identifier: "RequestedInput" })
export type RequestedInput = typeof RequestedInput.Type

/**
 * State of an input request. All states except `pending` are final. `withdrawn`: the program no longer waits. `self_answered`: the program
 * continued by itself, and no person answered. `cancelled`: the run ended.
 */
export const InputState = Schema.Literals([
  "pending",
  "answered",
  "declined",
  "expired",
  "withdrawn",
  "self_answered",
  "cancelled"
])
export type InputState = typeof InputState.Type
export type ResolvedInputState = Exclude<InputState, "pending">

const answerText = Schema.String.check(Schema.isMaxLength(MAX_INPUT_TEXT))

/** A text of the person instead of an option, or in addition to options. */
export const OtherAnswer = Schema.Struct({ other: answerText })
export type OtherAnswer = typeof OtherAnswer.Type

/** Answer to one question: an option's id, several, a text of the person, a number, yes or no, or a sealed text. */
export const AnswerValue = Schema.Union([
  answerText,
  Schema.Finite,
  Schema.Boolean,
  OtherAnswer,
  SealedValue,
  Schema.Array(Schema.Union([answerText, OtherAnswer])).check(Schema.isMaxLength(MAX_OPTIONS + 1))
])
export type AnswerValue = typeof AnswerValue.Type

/** Answers by the id of their question. */
export const InputAnswers = Schema.Record(Schema.String, AnswerValue)
export type InputAnswers = typeof InputAnswers.Type

const comment = Schema.optionalKey(answerText)

/** What a person answers: values, a refusal to answer, or a decision on a plan. An answer that is more than one of them is none. */
export const InputAnswer = Schema.Union(
  [
    Schema.Struct({ answers: InputAnswers, comment }),
    Schema.Struct({ decline: Schema.Literal(true), comment }),
    Schema.Struct({
      /** `false` sends the plan back with the comment. */
      approve: Schema.Boolean,
      /** Mode in which the plan is carried out. */
      mode: Schema.optionalKey(RunMode),
      comment
    })
  ],
  { mode: "oneOf" }
).annotate({ identifier: "InputAnswer" })
export type InputAnswer = typeof InputAnswer.Type

/** Fields that record an answer, equal in the event, the resource and the audit. */
export const answerRecord = {
  /** Without secret answers: `{other}` and texts as they were sent, secrets as an empty object. */
  answers: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** Of a plan: whether it was approved. */
  approved: Schema.optionalKey(Schema.Boolean),
  /** Of an approved plan: the mode in which it is carried out. */
  mode: Schema.optionalKey(RunMode),
  comment: optionalText,
  origin: Schema.optionalKey(DecisionOrigin)
}

/** An input request with its answer. Times are ISO 8601. */
export const InputRequest = Schema.Struct({
  id: InputRequestId,
  runId: RunId,
  agentId: AgentId,
  workspace: WorkspaceId,
  ...RequestedInput.fields,
  state: InputState,
  requestedAt: text,
  /** Absent by default: a question waits until someone answers or the run ends. */
  expiresAt: optionalText,
  resolvedAt: optionalText,
  ...answerRecord,
  answeredBy: optionalText
}).annotate({ identifier: "InputRequest" })
export type InputRequest = typeof InputRequest.Type

const target = { runId: RunId, inputId: InputRequestId }

/** Body of POST /v1/inputs/answer. */
export const AnswerInput = Schema.Union(
  [
    Schema.Struct({ ...target, ...InputAnswer.members[0].fields }),
    Schema.Struct({ ...target, ...InputAnswer.members[1].fields }),
    Schema.Struct({ ...target, ...InputAnswer.members[2].fields })
  ],
  { mode: "oneOf" }
).annotate({ identifier: "AnswerInput" })
export type AnswerInput = typeof AnswerInput.Type

/** Message that carries an approved plan out in the next run of an Edge; a Hub sends its own. A runtime that does not remember the plan receives it as a text. */
export const planMessage = (comment: string | undefined, plan?: string): string =>
  [
    "The plan was approved. Carry it out.",
    ...(comment === undefined ? [] : [comment]),
    ...(plan === undefined ? [] : ["The plan:", plan])
  ].join("\n\n")

/** One value in the words of the person. A secret has no text. */
const valueText = (value: unknown, labels: ReadonlyMap<string, string>): string => {
  if (Array.isArray(value)) return value.map((each) => valueText(each, labels)).join(", ")
  if (typeof value === "string") return labels.get(value) ?? value
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (!isJsonObject(value)) return String(value)
  return typeof value["other"] === "string" ? value["other"] : "(hidden)"
}

/** Recorded answers for people, with the labels of options. One of several questions is named. */
export const answerTexts = (
  request: RequestedInput | undefined,
  answers: InputRequest["answers"]
): ReadonlyArray<string> =>
  Object.entries(answers ?? {}).map(([id, value]) => {
    const question = request?.questions?.find((each) => each.id === id)
    const options = question?.kind === "choice" ? (question.options ?? []) : []
    const labels = new Map(options.map((option) => [option.id, option.label]))
    const name = (request?.questions?.length ?? 0) > 1 ? `${question?.header ?? question?.text ?? id}: ` : ""
    return `${name}${valueText(value, labels)}`
  })
