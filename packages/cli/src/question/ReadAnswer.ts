/**
 * Typed text as the answer to one question, and the answer from the flags of `corral answer`. Plain and synchronous.
 *
 * Guarantees: a text is an option only if it names exactly one option: by number, id or label. Each flag is one value of one question. A flag that does
 * not fit is refused, with the question and the reason.
 */
import { type RunMode, endsWithPlan } from "@corral/domain/approval/RunMode"
import { answerIssues } from "@corral/domain/input/AnswerCheck"
import type {
  AnswerValue,
  InputAnswer,
  OtherAnswer,
  Question,
  RequestedInput
} from "@corral/domain/input/InputRequest"
import { answerFlags, otherNumber } from "./QuestionLines.ts"

export type ReadAnswer = { readonly value: AnswerValue } | { readonly problem: string }

/** The value, or why it does not fit the question. */
export const checked = (question: Question, value: AnswerValue): ReadAnswer => {
  const request = { kind: "question", title: "", questions: [question] } as const
  const [issue] = answerIssues(request, { answers: { [question.id]: value } })
  return issue === undefined ? { value } : { problem: issue.message }
}

/** Id of the option that the text names: its number, its id or its label. `#2` is always a number. */
const optionNamed = (
  { options = [] }: Question,
  typed: string
): { readonly id: string } | { readonly problem: string } => {
  const text = typed.trim()
  const [, number] = /^#?(\d{1,3})$/u.exec(text) ?? []
  const numbered = number === undefined ? undefined : options[Number(number) - 1]
  const named = options.filter(({ id, label }) => id === text || label === text)
  const found = new Set([...(numbered === undefined ? [] : [numbered]), ...named])
  const [option, another] = found
  if (option === undefined) return { problem: "There is no such option." }
  return another === undefined
    ? { id: option.id }
    : { problem: "More than one option has this name. Use its number with a #, such as '#2'." }
}

/** Numbers of options, as `2` or `1,3`. `undefined`: it is something else. */
export const optionNumbers = (line: string): ReadonlyArray<number> | undefined => {
  const parts = line.trim().split(/[\s,]+/u)
  return parts.every((part) => /^\d{1,3}$/u.test(part)) ? parts.map(Number) : undefined
}

const YES = /^(?:y|yes|true)$/iu
const NO = /^(?:n|no|false)$/iu

/** A text of the person: instead of an option, or as the answer itself. */
export const readText = (question: Question, text: string): ReadAnswer => {
  switch (question.kind) {
    case "choice":
      return checked(question, question.multiple === true ? [{ other: text }] : { other: text })
    case "number":
      return text.trim() === "" || !Number.isFinite(Number(text))
        ? { problem: "Answer with a number." }
        : checked(question, Number(text))
    case "boolean": {
      const typed = text.trim()
      if (YES.test(typed)) return { value: true }
      return NO.test(typed) ? { value: false } : { problem: "Answer with yes or no." }
    }
    case "text":
      return checked(question, text)
  }
}

export interface ChosenOptions {
  readonly ids: ReadonlyArray<string>
  /** Whether the person also writes a text. */
  readonly isOther: boolean
}

/** Options by their numbers. */
export const chooseOptions = (
  question: Question,
  numbers: ReadonlyArray<number>
): ChosenOptions | { readonly problem: string } => {
  const { multiple, options = [] } = question
  if (numbers.length > 1 && multiple !== true) return { problem: "Choose one option." }
  const other = otherNumber(question)
  const ids: Array<string> = []
  for (const number of numbers) {
    if (number === other) continue
    const option = options[number - 1]
    if (option === undefined) return { problem: "There is no such option." }
    ids.push(option.id)
  }
  return { ids, isOther: other !== undefined && numbers.includes(other) }
}

/** Value of chosen options and a text. */
export const choiceValue = (
  { multiple }: Question,
  ids: ReadonlyArray<string>,
  other?: string
): AnswerValue => {
  const chosen = [...ids, ...(other === undefined ? [] : [{ other }])]
  const [first] = chosen
  return multiple === true || chosen.length > 1 || first === undefined ? chosen : first
}

/** Flags of `corral answer`. */
export interface AnswerArguments {
  readonly options: ReadonlyArray<string>
  readonly texts: ReadonlyArray<string>
  /** `question=value` */
  readonly values: ReadonlyArray<string>
  /** `question=text` */
  readonly others: ReadonlyArray<string>
  readonly done: boolean
  readonly decline: boolean
  readonly approve: boolean
  readonly sendBack: boolean
  readonly mode: RunMode | undefined
  readonly comment: string | undefined
}

type Answered = InputAnswer | { readonly problem: string }

const problem = (text: string) => ({ problem: text })

/** Whether the command names no answer, so that the person is asked. */
export const isUnanswered = (flagged: AnswerArguments): boolean =>
  !flagged.done && !flagged.decline && !flagged.approve && !flagged.sendBack && valueCount(flagged) === 0

const valueCount = ({ options, others, texts, values }: AnswerArguments): number =>
  options.length + others.length + texts.length + values.length

/** The parts of one value: options and texts of a choice, or the answer itself. */
const combined = (question: Question, parts: ReadonlyArray<AnswerValue>): ReadAnswer => {
  const [first, ...more] = parts
  if (first === undefined) return problem("Answer this question.")
  if (question.kind !== "choice") return more.length === 0 ? { value: first } : problem("Give one answer.")
  const chosen = parts.flatMap((part) => (Array.isArray(part) ? part : [part])) as ReadonlyArray<
    string | OtherAnswer
  > // parts of a choice are ids of options and texts
  return { value: question.multiple === true || chosen.length > 1 ? chosen : first }
}

/** One typed value of a question. */
const readPart = (question: Question, typed: string, isText: boolean): ReadAnswer => {
  if (question.kind !== "choice" || isText) return readText(question, typed)
  const option = optionNamed(question, typed)
  return "problem" in option ? option : { value: option.id }
}

const questionNamed = (questions: ReadonlyArray<Question>, name: string): Question | undefined =>
  questions.find(({ id }) => id === name) ??
  (/^\d{1,2}$/u.test(name) ? questions[Number(name) - 1] : undefined)

/** The question and the value of `QUESTION=VALUE`. An id may contain `=`: the longest id counts. */
const splitFlag = (questions: ReadonlyArray<Question>, flag: string) => {
  const [longest] = questions
    .filter(({ id }) => flag.startsWith(`${id}=`))
    .toSorted((a, b) => b.id.length - a.id.length)
  const at = longest === undefined ? flag.indexOf("=") : longest.id.length
  return { name: flag.slice(0, Math.max(0, at)), value: flag.slice(at + 1) }
}

type FlagValue = readonly [question: Question, typed: string, isText: boolean]

/** Values by question, from all flags. */
const flagValues = (
  { options, others, texts, values }: AnswerArguments,
  questions: ReadonlyArray<Question>
): ReadonlyArray<FlagValue> | { readonly problem: string } => {
  const flagged: Array<FlagValue> = []
  const [only, another] = questions
  if (options.length + texts.length > 0) {
    if (only === undefined) return problem("This has no question. Use --done, or --decline.")
    if (another !== undefined)
      return problem("There are several questions. Name each one: --value QUESTION=VALUE.")
    if (options.length > 0 && only.kind !== "choice")
      return problem("This question has no options. Use --text.")
    flagged.push(...options.map((typed): FlagValue => [only, typed, false]))
    flagged.push(...texts.map((typed): FlagValue => [only, typed, true]))
  }
  for (const [list, isText] of [
    [values, false],
    [others, true]
  ] as const)
    for (const each of list) {
      const { name, value } = splitFlag(questions, each)
      if (name === "") return problem("Write --value and --other as QUESTION=VALUE.")
      const question = questionNamed(questions, name)
      if (question === undefined)
        return problem(
          `There is no such question. Questions: ${questions.map(({ id }) => id).join(", ") || "none"}.`
        )
      flagged.push([question, value, isText])
    }
  return flagged
}

const readAnswers = (flagged: AnswerArguments, questions: ReadonlyArray<Question>): Answered => {
  const all = flagValues(flagged, questions)
  if ("problem" in all) return all
  const answers: Array<readonly [id: string, value: AnswerValue]> = []
  for (const question of questions) {
    const parts: Array<AnswerValue> = []
    for (const [of, typed, isText] of all) {
      if (of !== question) continue
      const read = readPart(question, typed, isText)
      if ("problem" in read) return problem(`${question.id}: ${read.problem}`)
      parts.push(read.value)
    }
    if (parts.length === 0) continue
    const read = combined(question, parts)
    if ("problem" in read) return problem(`${question.id}: ${read.problem}`)
    answers.push([question.id, read.value])
  }
  return { answers: Object.fromEntries(answers) }
}

const readPlan = ({ approve, mode, sendBack }: AnswerArguments, runMode: RunMode): Answered => {
  if (!approve && !sendBack) return problem("This is a plan. Use --approve, --return or --decline.")
  if (sendBack) return mode === undefined ? { approve: false } : problem("--mode needs --approve.")
  const chosen = mode ?? (endsWithPlan(runMode) ? "ask" : undefined)
  return { approve: true, ...(chosen === undefined ? {} : { mode: chosen }) }
}

const readChoice = (flagged: AnswerArguments, request: RequestedInput, runMode: RunMode): Answered => {
  const { approve, decline, done, mode, sendBack } = flagged
  const ways = [decline, approve, sendBack, done, valueCount(flagged) > 0].filter(Boolean).length
  if (ways > 1) return problem("Answer, decline, approve or return: only one of these.")
  if (decline) return { decline: true }
  if (request.kind === "plan")
    return valueCount(flagged) > 0 || done
      ? problem("This is a plan. Use --approve, or --return with --comment.")
      : readPlan(flagged, runMode)
  if (approve || sendBack || mode !== undefined) return problem("Only a plan can be approved or returned.")
  return readAnswers(flagged, request.questions ?? [])
}

/** The answer, or why the flags are none. */
export const readArguments = (
  flagged: AnswerArguments,
  request: RequestedInput,
  runMode: RunMode
): Answered => {
  const answer = readChoice(flagged, request, runMode)
  if ("problem" in answer)
    return problem(`${answer.problem}\nWays to answer: ${answerFlags(request).join("   or: ")}`)
  const whole = flagged.comment === undefined ? answer : { ...answer, comment: flagged.comment }
  const issues = answerIssues(request, whole)
  return issues.length === 0
    ? whole
    : problem(issues.map(({ message, path }) => `${path.replace(/^answers\./u, "")}: ${message}`).join("\n"))
}
