/**
 * Card of a question, a form, a plan or an address: what the agent asks, the ways to answer, and who answered.
 *
 * Guarantees: no answer is selected or emphasized in advance.
 * Does not: contain secrets, code, paths or an address of the agent. Where the project's policy keeps texts of agents out of the chat, the card
 * has a link only.
 */
import type { DecisionOrigin } from "@corral/domain/approval/Approval"
import type {
  InputKind,
  InputRequest,
  Question,
  RequestedInput,
  ResolvedInputState
} from "@corral/domain/input/InputRequest"
import {
  type Card,
  type CardButton,
  type LocalizedText,
  sameInAllLanguages
} from "../platform/ChatPlatform.ts"
import { origins } from "./ApprovalCard.ts"
import { answerText } from "./AnswerText.ts"
import {
  type CardAnswer,
  formFields,
  isAnswerableInChat,
  optionButtons,
  textQuestion
} from "./QuestionForm.ts"

export interface InputCardInput {
  readonly language?: Card["language"]
  readonly kind: InputKind
  /** What the agent asks; `undefined` if the chat does not show it. */
  readonly request: RequestedInput | undefined
  /** Names of the project, the machine and the agent. */
  readonly place: string
  /** Page at the Hub. */
  readonly url: string
}

/** Id of the button for each way to answer. */
export type ActionIdOf = (how: CardAnswer) => string

const titles: Readonly<Record<InputKind, LocalizedText>> = {
  question: { en: "The agent has a question", zh: "智能体有问题要问" },
  plan: { en: "The agent has a plan", zh: "智能体提交了计划" },
  link: { en: "The agent asks you to open an address", zh: "智能体请你打开一个地址" }
}

const shownText = (text: string): ReadonlyArray<LocalizedText> => {
  const shown = answerText(text)
  return shown === undefined ? [] : [sameInAllLanguages(shown)]
}

const questionLines = ({ header, options = [], text }: Question, at: number, count: number) => {
  const number = count > 1 ? `${at + 1}. ` : ""
  const described = options.filter(({ description }) => description !== undefined)
  return [
    ...shownText(`${number}${header === undefined ? "" : `${header}: `}${text}`),
    ...described.flatMap(({ description, label }) => shownText(`• ${label} – ${description}`))
  ]
}

const requestLines = ({ plan, questions = [] }: RequestedInput): ReadonlyArray<LocalizedText> => [
  ...(plan === undefined ? [] : shownText(plan)),
  ...questions.flatMap((question, at) => questionLines(question, at, questions.length))
]

const replyHint: LocalizedText = {
  en: "You can also reply here in your own words.",
  zh: "也可以在此回复，用自己的话回答。"
}

const onlyInConsole: LocalizedText = { en: "Answer it in Corral.", zh: "请在 Corral 中回答。" }

const linkTo = (url: string): CardButton => ({
  _tag: "Link",
  label: { en: "Open in Corral", zh: "在 Corral 中打开" },
  url
})

const action = (
  label: LocalizedText,
  actionId: string,
  style: "primary" | "plain" = "plain",
  submits = false
): CardButton => ({ _tag: "Action", label, actionId, style, ...(submits ? { submits } : {}) })

const skip: LocalizedText = { en: "Skip", zh: "跳过" }

/** Ways to answer, in the order of their buttons. */
export const waysToAnswer = (request: RequestedInput): ReadonlyArray<CardAnswer> => {
  if (!isAnswerableInChat(request)) return []
  if (request.kind === "plan") return ["approve", "return"]
  const options = optionButtons(request)
  return options === undefined ? ["submit", "skip"] : [...options.map((_, option) => ({ option })), "skip"]
}

const answerButtons = (request: RequestedInput, actionIdOf: ActionIdOf): ReadonlyArray<CardButton> => {
  if (request.kind === "plan")
    return [
      action({ en: "Approve", zh: "批准" }, actionIdOf("approve"), "primary", true),
      action({ en: "Send back", zh: "退回" }, actionIdOf("return"), "plain", true)
    ]
  const options = optionButtons(request)
  return [
    ...(options === undefined
      ? [action({ en: "Send answer", zh: "提交回答" }, actionIdOf("submit"), "primary", true)]
      : options.map((label, option) => action(label, actionIdOf({ option })))),
    action(skip, actionIdOf("skip"))
  ]
}

/** Card with the ways to answer. */
export const openInputCard = (
  { kind, language, place, request, url }: InputCardInput,
  actionIdOf: ActionIdOf
): Card => {
  const head = { language, title: titles[kind], tone: "attention" } as const
  const first = sameInAllLanguages(place)
  if (request === undefined || !isAnswerableInChat(request)) {
    const lines = request === undefined || kind === "link" ? [] : requestLines(request)
    return { ...head, lines: [first, ...lines, onlyInConsole], buttons: [linkTo(url)] }
  }
  const fields = optionButtons(request) === undefined ? formFields(request) : []
  const hint = textQuestion(request) === undefined ? [] : [replyHint]
  return {
    ...head,
    lines: [first, ...requestLines(request), ...hint],
    ...(fields.length === 0 ? {} : { fields }),
    buttons: [...answerButtons(request, actionIdOf), linkTo(url)]
  }
}

/** How a request ended. */
export interface InputEnd {
  readonly state: ResolvedInputState
  readonly approved?: boolean | undefined
  readonly origin?: DecisionOrigin | undefined
  /** A user's id, or another name from the run's log. */
  readonly by?: string | undefined
}

export const inputEndOf = (
  { answeredBy: by, approved, origin }: InputRequest,
  state: ResolvedInputState
): InputEnd => ({ state, approved, origin, by })

const by = (name: string | undefined, en: string, zh: string): LocalizedText =>
  name === undefined ? { en, zh: `已${zh}` } : { en: `${en} by ${name}`, zh: `${name} 已${zh}` }

const outcomeOf = ({ approved, state }: InputEnd, name: string | undefined): LocalizedText => {
  switch (state) {
    case "answered":
      if (approved === undefined) return by(name, "Answered", "回答")
      return approved ? by(name, "Approved", "批准") : by(name, "Sent back", "退回")
    case "declined":
      return by(name, "Skipped", "跳过")
    case "expired":
      return { en: "Expired without an answer", zh: "已超时，无人回答" }
    case "self_answered":
      return { en: "The agent continued without an answer", zh: "智能体未等回答，已自行继续" }
    case "withdrawn":
    case "cancelled":
      return { en: "No longer needed", zh: "已不再需要" }
  }
}

/** Card without ways to answer. `name` is the name of the user who answered. */
export const resolvedInputCard = (
  { kind, language, place, request, url }: InputCardInput,
  end: InputEnd,
  name: string | undefined
): Card => {
  const isAnswered = end.state === "answered"
  const where = end.origin === undefined || end.by === undefined ? [] : [origins[end.origin]]
  return {
    language,
    title: titles[kind],
    tone: isAnswered && end.approved !== false ? "good" : "neutral",
    lines: [
      sameInAllLanguages(place),
      ...(request === undefined || kind === "link" ? [] : requestLines(request)),
      outcomeOf(end, name),
      ...where
    ],
    buttons: [linkTo(url)]
  }
}

/** Answer to a click on a request that is no longer open. */
export const alreadyAnswered = (end: InputEnd | undefined, name: string | undefined): LocalizedText =>
  end === undefined || name === undefined || end.state !== "answered"
    ? { en: "This question is no longer open.", zh: "这个问题已不再等待回答。" }
    : { en: `Already answered by ${name}.`, zh: `${name} 已回答。` }
