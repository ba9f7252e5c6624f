/**
 * Answers of a user to the approval or the question that a chat shows, and the edit of an approval's input. Plain and synchronous.
 *
 * Guarantees: a line decides or answers only if its first key came after the question could be read, and a decision only if the line is nothing else, so
 * that a message never decides.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId, InputRequestId } from "@corral/domain/identity/Ids"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import type { ApprovalBlock, InputBlock } from "@corral/domain/run/RunBlock"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { AnswerDraft, type DraftStep } from "../question/AnswerDraft.ts"
import { optionNumbers } from "../question/ReadAnswer.ts"
import type { DecisionRequest } from "../run/RunServer.ts"
import type { PendingQuestion } from "./ChatTurns.ts"

/** A question is answered only by text whose first key came this long after it appeared. */
const READING_MS = 500

/** Answers to the approval of a chat. Only a line that is an answer and nothing else counts, so that a message never decides. */
type DecisionLine =
  | { readonly kind: "decide"; readonly decision: DecisionRequest }
  | { readonly kind: "edit" }
  | { readonly kind: "invalid"; readonly message: string }

const NO = /^(?:n|no)(?:[ ,:]+([^]+))?$/i
const YES = /^(?:y|yes)$/i

/** Reads a line. `undefined`: it is not an answer. */
export const parseDecision = (
  line: string,
  { editable, scopes }: ApprovalRequest
): DecisionLine | undefined => {
  const text = line.trim()
  if (YES.test(text)) return { kind: "decide", decision: { decision: "allow", scope: "once" } }
  if (text === "a")
    return scopes.includes("run")
      ? { kind: "decide", decision: { decision: "allow", scope: "run" } }
      : { kind: "invalid", message: "This action can be allowed only once." }
  if (text === "e")
    return editable
      ? { kind: "edit" }
      : { kind: "invalid", message: "This agent does not accept an edited input." }
  // Longer texts are messages that begin with "no".
  if (text.length > 2_000) return undefined
  const [denial, reason] = NO.exec(text) ?? []
  if (denial === undefined) return undefined
  return { kind: "decide", decision: { decision: "deny", ...(reason === undefined ? {} : { reason }) } }
}

export const decisionQuestion = ({ editable, scopes }: ApprovalRequest, count: number): string => {
  const forRun = scopes.includes("run") ? " · a allow for this run" : ""
  const edit = editable ? " · e edit" : ""
  const more = count > 1 ? ` (1 of ${count})` : ""
  return `Allow?${more} y yes${forRun} · n [reason] no${edit}`
}

/** Input of an approval while a user edits it: the command if there is one, otherwise the JSON object. */
interface InputDraft {
  readonly text: string
  /** The edited input, or why it is not one. */
  readonly read: (
    text: string
  ) => { readonly input: Readonly<Record<string, unknown>> } | { readonly problem: string }
}

export const inputDraft = ({ input }: ApprovalRequest): InputDraft | undefined => {
  if (!isJsonObject(input)) return undefined
  const { command } = input
  if (typeof command === "string")
    return { text: command, read: (text) => ({ input: { ...input, command: text } }) }
  return {
    text: JSON.stringify(input),
    read: (text) => {
      try {
        const value: unknown = JSON.parse(text)
        return isJsonObject(value) ? { input: value } : { problem: "The input must be a JSON object." }
      } catch {
        return { problem: "This is not JSON." }
      }
    }
  }
}

/** What a line did. */
export interface DecisionOutcome {
  readonly decided?: { readonly id: ApprovalId; readonly decision: DecisionRequest }
  /** Why it decided nothing. */
  readonly warning?: string
  /** Text for the editor. */
  readonly nextText?: string
}

interface Editing {
  readonly id: ApprovalId
  readonly draft: InputDraft
}

/**
 * Answers of a user to the approval that a chat shows, and the edit of its input. Plain and synchronous.
 *
 * Guarantees: a line decides only if its first key came after the question could be read, and if it is an answer and nothing else, so that a
 * message never decides.
 */
export class ChatDecision {
  /** Approval whose input is being edited. */
  private editing: Editing | undefined
  /** When a question was first drawn. */
  private readonly shownAt = new Map<string, number>()

  get isEditing(): boolean {
    return this.editing !== undefined
  }

  /** The question of this approval is on the screen. */
  shown({ approvalId }: ApprovalBlock, now: number): void {
    if (!this.shownAt.has(approvalId)) this.shownAt.set(approvalId, now)
  }

  /** Handles a line. `typedAt`: the time of its first key. `undefined`: it is not an answer. */
  answer({ approvalId, request }: ApprovalBlock, text: string, typedAt: number): DecisionOutcome | undefined {
    const answer = parseDecision(text, request)
    if (answer === undefined) return undefined
    if (typedAt < (this.shownAt.get(approvalId) ?? Infinity) + READING_MS)
      return { warning: "This was typed before the question appeared. Read it and answer again." }
    // Ids of events have the form of the contract.
    const id = approvalId as ApprovalId
    switch (answer.kind) {
      case "invalid":
        return { warning: answer.message }
      case "edit": {
        const draft = inputDraft(request)
        if (draft === undefined) return { warning: "This action has no input to edit." }
        this.editing = { id, draft }
        return { nextText: draft.text }
      }
      case "decide":
        return { decided: { id, decision: answer.decision } }
    }
  }

  /** Handles the edited input. `undefined`: no input is being edited. */
  submitEdit(text: string): DecisionOutcome | undefined {
    if (this.editing === undefined) return undefined
    const { draft, id } = this.editing
    const read = draft.read(text)
    if ("problem" in read) {
      const warning = `${read.problem} Edit it, or press Ctrl-C to keep the question open.`
      return { warning, nextText: text }
    }
    this.editing = undefined
    return { decided: { id, decision: { decision: "allow", scope: "once", updatedInput: read.input } } }
  }

  /** Ends the edit. The question stays open. */
  cancelEdit(): DecisionOutcome {
    if (this.editing === undefined) return {}
    this.editing = undefined
    return { nextText: "" }
  }
}

/** What a line did. */
export interface QuestionOutcome {
  readonly answered?: { readonly id: InputRequestId; readonly answer: InputAnswer }
  /** Why it answered nothing. */
  readonly warning?: string
  /** Text for the editor. */
  readonly nextText?: string
  /** Text that the user sends as a message instead. */
  readonly message?: string
}

interface Open {
  readonly id: string
  readonly draft: AnswerDraft
  /** Text that may become the answer: the user is asked. */
  offered?: string | undefined
  /** Whether the next line is a secret. */
  isTyping?: boolean
}

const UNREAD = "This was typed before the question appeared. Read it and answer again."

/**
 * Answers of a user to the question that a chat shows. Plain and synchronous.
 *
 * Guarantees: a number or a decision answers only if its first key came after the question could be read, and so does a confirmation. An ordinary text answers only after
 * the user has confirmed it, and never becomes an answer by itself.
 */
export class ChatQuestion {
  private open: Open | undefined
  /** When a question was first drawn. */
  private readonly shownAt = new Map<string, number>()

  /** Whether the user types a secret. */
  get isHidden(): boolean {
    return this.open?.isTyping === true
  }

  /** Whether Ctrl-C gives up a text that was offered, or a secret. */
  get isCancellable(): boolean {
    return this.open?.offered !== undefined || this.isHidden
  }

  /** The question is on the screen. */
  shown({ inputId }: InputBlock, now: number): void {
    if (!this.shownAt.has(inputId)) this.shownAt.set(inputId, now)
  }

  /** One row: how to answer. */
  prompt(next: PendingQuestion, count: number): string {
    const { draft, isTyping, offered } = this.openFor(next)
    if (offered !== undefined)
      return "Answer the question with this text? y answer with it · n send it as a message"
    if (isTyping === true)
      return "Type the secret. It is not shown. Enter sends it; Ctrl-C keeps the question."
    const more = count > 1 ? `(1 of ${count} questions) ` : ""
    const how = draft.isSecret ? "Secret: /answer, then type it hidden · /skip" : draft.prompt
    const text = draft.takesText && !draft.awaitsText ? " · or write a text" : ""
    return `${more}${how}${text}`
  }

  /** Handles a line. `typedAt`: the time of its first key. `undefined`: it is not an answer. */
  submit(next: PendingQuestion, count: number, text: string, typedAt: number): QuestionOutcome | undefined {
    const open = this.openFor(next)
    const { draft } = open
    if (open.isTyping === true) return this.after(open, draft.accept(text), text)
    if (open.offered !== undefined)
      return this.isRead(next, typedAt) ? this.confirm(open, open.offered, text) : { warning: UNREAD }
    const isCommand = /^[/!]/u.test(text.trimStart())
    if (!draft.awaitsText && isCommand) return undefined
    if (draft.isAnswer(text))
      return this.isRead(next, typedAt) ? this.after(open, draft.accept(text), "") : { warning: UNREAD }
    if (text.trim() === "" || count > 1 || !draft.takesText) return undefined
    open.offered = text
    return {}
  }

  /** `/answer`: the text is the answer. Without a text, a secret is typed next. */
  answerWith(next: PendingQuestion, text: string): QuestionOutcome {
    const open = this.openFor(next)
    const { draft } = open
    if (draft.isSecret) {
      if (text !== "") return { warning: "A secret is not typed in the open. Use /answer alone." }
      open.isTyping = true
      return {}
    }
    if (text === "") return { warning: "Write the answer: /answer TEXT." }
    const isSelection = optionNumbers(text) !== undefined || draft.question === undefined
    return this.after(open, isSelection ? draft.accept(text) : draft.acceptText(text), "")
  }

  decline(next: PendingQuestion): QuestionOutcome {
    return this.after(this.openFor(next), { kind: "done", answer: { decline: true } }, "")
  }

  /** Ends the entry of a secret or gives an offered text back. The question stays open. */
  cancel(): QuestionOutcome {
    const { open } = this
    if (open === undefined) return {}
    const nextText = open.offered ?? ""
    open.offered = undefined
    open.isTyping = false
    return { nextText }
  }

  private openFor({ block: { inputId: id, request }, mode }: PendingQuestion): Open {
    if (this.open?.id !== id) this.open = { id, draft: new AnswerDraft(request, mode) }
    return this.open
  }

  private isRead({ block: { inputId } }: PendingQuestion, typedAt: number): boolean {
    return typedAt >= (this.shownAt.get(inputId) ?? Infinity) + READING_MS
  }

  /** The user says whether the text is the answer. */
  private confirm(open: Open, offered: string, line: string): QuestionOutcome {
    const text = line.trim()
    if (/^(?:y|yes)$/iu.test(text)) {
      open.offered = undefined
      return this.after(open, open.draft.acceptText(offered), offered)
    }
    if (!/^(?:n|no)$/iu.test(text)) return { warning: "Answer y or n. Ctrl-C gives the text back." }
    open.offered = undefined
    return { message: offered }
  }

  /** `typedText`: the text that goes back to the editor if it does not fit. */
  private after(open: Open, step: DraftStep, typedText: string): QuestionOutcome {
    if (step.kind === "problem")
      return {
        warning: step.message,
        ...(typedText === "" || open.isTyping === true ? {} : { nextText: typedText })
      }
    open.isTyping = false
    if (step.kind === "next") return {}
    this.open = undefined
    // Ids of events have the form of the contract.
    return { answered: { id: open.id as InputRequestId, answer: step.answer } }
  }
}
