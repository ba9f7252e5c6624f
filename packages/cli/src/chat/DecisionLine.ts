/**
 * Answers to the approval of a chat. Only a line that is an answer and nothing else counts, so that a message never decides.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { DecisionRequest } from "../run/RunServer.ts"

/** A question is answered only by text whose first key came this long after it appeared. */
export const READING_MS = 500

export type DecisionLine =
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
export interface InputDraft {
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
