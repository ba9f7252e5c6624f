/**
 * Answers of a user to the approval that a chat shows, and the edit of its input. Plain and synchronous.
 *
 * Guarantees: a line decides only if its first key came after the question could be read, and if it is an answer and nothing else, so that a
 * message never decides.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { ApprovalBlock } from "@corral/domain/run/RunBlock"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { DecisionRequest } from "../run/RunServer.ts"

/** A question is answered only by text whose first key came this long after it appeared. */
export const READING_MS = 500

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
