/** Approvals as confirmations of a tool call, with options of the host, and what a confirmation decides. */
import type { ApprovalRequest, DecideApproval, DecisionScope } from "@corral/domain/approval/Approval"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { Option, Schema } from "effect"
import { safeCommand, safeText } from "@corral/domain/text/SafeText"
import type { ChatAction } from "../protocol/Actions.ts"
import type { ConfirmationOption } from "../protocol/State.ts"
import { codeBlock, plain, visibleInput } from "./Lines.ts"

export type ApprovalDecision = Pick<DecideApproval, "decision" | "scope" | "reason" | "updatedInput">

const scopes: ReadonlyArray<DecisionScope> = ["once", "run", "session", "always"]
const scopeNames: Readonly<Record<DecisionScope, string>> = {
  once: "Allow once",
  run: "Allow for the run",
  session: "Allow for the session",
  always: "Always allow in this workspace"
}

interface Choice {
  readonly option: ConfirmationOption
  readonly decision: ApprovalDecision
}

/** The id of an option names its approval: a late confirmation decides no other approval of the same call. */
const choicesOf = (approvalId: string, request: ApprovalRequest): ReadonlyArray<Choice> => [
  ...scopes
    .filter((scope) => scope === "once" || request.scopes.includes(scope))
    .map((scope): Choice => ({
      option: { id: `${approvalId}/allow_${scope}`, label: scopeNames[scope], kind: "approve", group: 1 },
      decision: { decision: "allow", scope }
    })),
  {
    option: { id: `${approvalId}/deny`, label: "Deny", kind: "deny", group: 2 },
    decision: { decision: "deny" }
  },
  {
    option: { id: `${approvalId}/stop`, label: "Deny and stop the run", kind: "deny", group: 2 },
    decision: { decision: "cancel" }
  }
]

const detail = (label: string, value: string | undefined): ReadonlyArray<string> =>
  value === undefined || value === "" ? [] : [`${label}: ${plain(value)}`]

/** The exact action. What a person does not see in it is shown as a symbol. */
const description = (request: ApprovalRequest): string => {
  const { action, command, cwd, files = [], patch, reason, risk, title, url } = request
  return [
    `${plain(title)} (${action}, risk: ${risk})`,
    ...(command === undefined ? [] : [codeBlock(safeCommand(command), "sh")]),
    ...detail("Folder", cwd === "." ? "the workspace" : cwd),
    ...(files.length === 0 ? [] : [`Files: ${files.map(plain).join(", ")}`]),
    ...detail("Address", url),
    ...detail("Reason", reason),
    ...(patch === undefined ? [] : [codeBlock(safeText(patch), "diff")])
  ].join("\n\n")
}

/** Whether the input can be edited as the client shows it: the whole input as JSON. */
const isEditable = ({ command, editable, input }: ApprovalRequest): boolean =>
  editable && command === undefined && isJsonObject(input)

const shownInput = ({ command, input }: ApprovalRequest): string | undefined =>
  command === undefined && input === undefined ? undefined : visibleInput(command ?? input)

/** The tool call waits for a decision of a person. */
export const confirmation = (
  turnId: string,
  toolCallId: string,
  approvalId: string,
  request: ApprovalRequest
): ChatAction => {
  const toolInput = shownInput(request)
  return {
    type: "chat/toolCallReady",
    turnId,
    toolCallId,
    invocationMessage: { markdown: description(request) },
    confirmationTitle: { markdown: plain(request.title) },
    ...(toolInput === undefined ? {} : { toolInput }),
    editable: isEditable(request),
    options: choicesOf(approvalId, request).map(({ option }) => option)
  }
}

const MAX_REASON = 4_096

const editedInput = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** The part of a confirmation that decides, as a client sends it. */
export interface SentConfirmation {
  readonly approved: boolean
  readonly selectedOptionId?: string | undefined
  readonly editedToolInput?: string | undefined
  readonly reasonMessage?: string | { readonly markdown: string } | undefined
}

const noOption = "Choose an option. An approval without one allows nothing."

/**
 * What a confirmation decides. A text: why it decides nothing. Flags of the client such as the reason of its confirmation do not count. VS Code approves
 * without an option, as a person would, what it no longer shows after a stop: only an option allows.
 */
export const decisionOf = (
  approvalId: string,
  request: ApprovalRequest,
  { approved, editedToolInput, reasonMessage, selectedOptionId }: SentConfirmation
): ApprovalDecision | string => {
  if (approved && selectedOptionId === undefined) return noOption
  const choices = choicesOf(approvalId, request)
  const wanted = selectedOptionId ?? `${approvalId}/deny`
  const choice = choices.find(({ option }) => option.id === wanted)
  if (choice === undefined) return "This option is not offered for the action that waits now."
  if ((choice.option.kind === "approve") !== approved) return "The option and the decision do not fit."
  if (!approved) {
    const text = typeof reasonMessage === "object" ? reasonMessage.markdown : reasonMessage
    return text === undefined || text === ""
      ? choice.decision
      : { ...choice.decision, reason: text.slice(0, MAX_REASON) }
  }
  if (editedToolInput === undefined || editedToolInput === shownInput(request)) return choice.decision
  const updatedInput = isEditable(request) ? Option.getOrUndefined(editedInput(editedToolInput)) : undefined
  return updatedInput === undefined
    ? "The input of this action cannot be edited like this."
    : { ...choice.decision, updatedInput }
}
