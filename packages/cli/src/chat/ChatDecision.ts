/**
 * Answers of a user to the approval that a chat shows, and the edit of its input. Plain and synchronous.
 *
 * Guarantees: a line decides only if its first key came after the question could be read.
 */
import type { ApprovalId } from "@corral/domain/identity/Ids"
import type { ApprovalBlock } from "@corral/domain/run/RunBlock"
import type { DecisionRequest } from "../run/RunServer.ts"
import { type InputDraft, inputDraft, parseDecision, READING_MS } from "./DecisionLine.ts"

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
