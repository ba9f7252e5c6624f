/**
 * Answer to an input request while a person gives it, question after question, and its prompt at the terminal: one line for each answer. Secrets are not
 * shown.
 *
 * Guarantees: every value comes from a line of the person. A line that does not fit changes nothing.
 */
import { endsWithPlan, RunMode } from "@corral/domain/approval/RunMode"
import type { AnswerValue, InputAnswer, Question, RequestedInput } from "@corral/domain/input/InputRequest"
import { Effect } from "effect"
import type { Host } from "../terminal/Host.ts"
import { type PromptArea, promptLine } from "../terminal/Prompts.ts"
import { otherNumber, questionRows } from "./QuestionLines.ts"
import {
  checked,
  choiceValue,
  chooseOptions,
  optionNumbers,
  type ReadAnswer,
  readText
} from "./ReadAnswer.ts"

/** What a line did. */
export type DraftStep =
  | { readonly kind: "problem"; readonly message: string }
  /** A further question, or the text of one. */
  | { readonly kind: "next" }
  | { readonly kind: "done"; readonly answer: InputAnswer }

const SKIP = "/skip"
const APPROVE = /^(?:y|yes)(?:\s+(\w+))?$/iu
const RETURN = /^(?:n|no)(?:[\s,:]+([^]+))?$/iu

const problem = (message: string): DraftStep => ({ kind: "problem", message })

/** An answer while a person gives it. Plain and synchronous. */
export class AnswerDraft {
  private readonly request: RequestedInput
  private readonly runMode: RunMode
  private readonly questions: ReadonlyArray<Question>
  private readonly values = new Map<string, AnswerValue>()
  private at = 0
  /** Options that were chosen together with a text, which comes next. */
  private chosen: ReadonlyArray<string> | undefined

  constructor(request: RequestedInput, runMode: RunMode) {
    this.request = request
    this.runMode = runMode
    this.questions = request.questions ?? []
  }

  /** The question that comes next. */
  get question(): Question | undefined {
    return this.questions[this.at]
  }

  /** Whether the next line is hidden. */
  get isSecret(): boolean {
    return this.question?.secret === true
  }

  /** Whether an ordinary text can be the next answer. Secrets are not ordinary text. */
  get takesText(): boolean {
    const { question } = this
    if (question === undefined || this.isSecret) return false
    return question.kind === "text" || (question.kind === "choice" && question.allowsOther === true)
  }

  /** Whether the person chose to write a text, which comes next. */
  get awaitsText(): boolean {
    return this.chosen !== undefined
  }

  /** How to answer, without the question. */
  get prompt(): string {
    const { question, request } = this
    if (question === undefined) {
      if (request.kind !== "plan") return "Open the address yourself. d done · /skip"
      const mode = endsWithPlan(this.runMode) ? " [MODE]" : ""
      const then = mode === "" ? "" : " and work in MODE (default: ask)"
      return `Approve the plan? y${mode} yes${then} · n [comment] send back · /skip`
    }
    const place = this.questions.length > 1 ? `(${this.at + 1} of ${this.questions.length}) ` : ""
    return `${place}${this.chosen === undefined ? promptOf(question) : "Write your answer"} · /skip`
  }

  /** Whether a line is an answer and nothing else: a number, yes or no, a decision. */
  isAnswer(line: string): boolean {
    const text = line.trim()
    const { question } = this
    if (text === SKIP || this.awaitsText) return true
    if (question === undefined)
      return this.request.kind === "plan" ? this.decision(text) !== undefined : /^d(?:one)?$/iu.test(text)
    switch (question.kind) {
      case "choice":
        return optionNumbers(text) !== undefined
      case "number":
        return text !== "" && Number.isFinite(Number(text))
      case "boolean":
        return "value" in readText(question, text)
      case "text":
        return false
    }
  }

  /** Handles a line that was typed as the answer. */
  accept(line: string): DraftStep {
    const text = line.trim()
    const { question } = this
    if (text === SKIP) return { kind: "done", answer: { decline: true } }
    if (question === undefined) return this.acceptDecision(text)
    if (this.chosen !== undefined) return this.acceptText(line)
    if (text === "" && question.required === false) return this.proceed()
    if (question.kind !== "choice")
      return this.store(readText(question, question.kind === "text" ? line : text))
    const numbers = optionNumbers(text)
    if (numbers === undefined) return problem("Answer with the number of an option.")
    const chosen = chooseOptions(question, numbers)
    if ("problem" in chosen) return problem(chosen.problem)
    if (!chosen.isOther) return this.store(checked(question, choiceValue(question, chosen.ids)))
    this.chosen = chosen.ids
    return { kind: "next" }
  }

  /** Handles a text as the answer to the question that comes next. */
  acceptText(text: string): DraftStep {
    const { chosen, question } = this
    if (question === undefined) return problem("This takes no text.")
    if (question.kind !== "choice") return this.store(readText(question, text))
    return this.store(checked(question, choiceValue(question, chosen ?? [], text)))
  }

  private acceptDecision(text: string): DraftStep {
    if (this.request.kind !== "plan")
      return /^d(?:one)?$/iu.test(text)
        ? { kind: "done", answer: { answers: {} } }
        : problem("Answer d when it is done, or /skip.")
    const answer = this.decision(text)
    if (answer === undefined)
      return problem("Answer y to approve the plan, or n with a comment to send it back.")
    return "problem" in answer ? problem(answer.problem) : { kind: "done", answer }
  }

  private decision(text: string): InputAnswer | { readonly problem: string } | undefined {
    const approval = APPROVE.exec(text)
    if (approval !== null) {
      const endsRun = endsWithPlan(this.runMode)
      const typed = approval[1]
      if (typed === undefined) return { approve: true, ...(endsRun ? { mode: "ask" as const } : {}) }
      const mode = RunMode.literals.find((each) => each === typed)
      return mode === undefined
        ? { problem: `Modes: ${RunMode.literals.join(", ")}.` }
        : { approve: true, mode }
    }
    const [returned, comment] = RETURN.exec(text) ?? []
    if (returned === undefined) return undefined
    return { approve: false, ...(comment === undefined ? {} : { comment }) }
  }

  private store(read: ReadAnswer): DraftStep {
    if ("problem" in read) return problem(read.problem)
    if (this.question !== undefined) this.values.set(this.question.id, read.value)
    return this.proceed()
  }

  private proceed(): DraftStep {
    this.chosen = undefined
    this.at++
    return this.question === undefined
      ? { kind: "done", answer: { answers: Object.fromEntries(this.values) } }
      : { kind: "next" }
  }
}

const promptOf = (question: Question): string => {
  const { kind, multiple, required, secret } = question
  const optional = required === false ? " (Enter: no answer)" : ""
  if (kind === "boolean") return `y or n${optional}`
  if (kind === "number") return `Number${optional}`
  if (kind === "text") return `${secret === true ? "Secret, not shown" : "Text"}${optional}`
  const other = otherNumber(question)
  const last = other ?? question.options?.length ?? 0
  return `${multiple === true ? `Numbers from 1 to ${last}, as 1,2` : `Number from 1 to ${last}`}${optional}`
}

/** Plain text of the question that comes next, where there are several. */
const questionText = (draft: AnswerDraft): string =>
  draft.question === undefined
    ? ""
    : `${questionRows(draft.question)
        .map((row) => row.map(({ text }) => text).join(""))
        .join("\n")}\n`

/**
 * Prompt of the terminal for a question, a form or a plan: one line for each answer. Secrets are not shown. Asks until the person has answered, or
 * skipped the request.
 */
export const promptInput = (
  host: Host["Service"],
  request: RequestedInput,
  runMode: RunMode,
  area?: PromptArea
): Effect.Effect<InputAnswer> =>
  Effect.suspend(() => {
    const draft = new AnswerDraft(request, runMode)
    // The block of the request shows the first question.
    let before = ""
    return promptLine(
      host,
      () => ({ text: `${before}${draft.prompt}: `, isHidden: draft.isSecret }),
      (line) => {
        const step = draft.accept(line)
        if (step.kind === "done") return step.answer
        before = step.kind === "problem" ? `${step.message}\n` : draft.awaitsText ? "" : questionText(draft)
        return undefined
      },
      area
    )
  })
