/** Life of one tool call, as the protocol defines it. An action that does not fit the call's status changes nothing. */
import type { ChatAction } from "../protocol/Actions.ts"
import type { ConfirmationOption, Meta, ToolCall } from "../protocol/State.ts"

export type ToolCallAction = Extract<ChatAction, { readonly toolCallId: string }>
export type ToolCallChange = Exclude<ToolCallAction, { readonly type: "chat/toolCallStart" }>
type ActionOf<Type extends ToolCallChange["type"]> = Extract<ToolCallChange, { readonly type: Type }>

/** What a call has in every status. */
export const baseOf = (call: ToolCall, meta: Meta | undefined = undefined) => ({
  toolCallId: call.toolCallId,
  toolName: call.toolName,
  displayName: call.displayName,
  intention: call.intention,
  contributor: call.contributor,
  _meta: meta ?? call._meta
})

const chosen = (call: { readonly selectedOption?: ConfirmationOption }) =>
  call.selectedOption === undefined ? {} : { selectedOption: call.selectedOption }

/** A call belongs to a client from its start or never. */
const contributorOf = (
  current: ToolCall["contributor"],
  next: ToolCall["contributor"]
): ToolCall["contributor"] => {
  if (next === undefined) return current
  if (current?.kind === "client")
    return next.kind === "client" && next.clientId === current.clientId ? next : current
  return next.kind === "client" ? current : next
}

const ready = (call: ToolCall, action: ActionOf<"chat/toolCallReady">): ToolCall => {
  if (call.status !== "streaming" && call.status !== "running" && call.status !== "pending-confirmation")
    return call
  const common = {
    ...baseOf(call, action._meta),
    contributor: contributorOf(call.contributor, action.contributor),
    intention: action.intention ?? call.intention,
    invocationMessage: action.invocationMessage,
    toolInput: action.toolInput ?? (call.status === "streaming" ? undefined : call.toolInput)
  }
  if (action.confirmed !== undefined) return { status: "running", ...common, confirmed: action.confirmed }
  const before = call.status === "pending-confirmation" ? call : undefined
  const options = action.options ?? before?.options
  return {
    status: "pending-confirmation",
    ...common,
    confirmationTitle: action.confirmationTitle ?? before?.confirmationTitle,
    riskAssessment: action.riskAssessment ?? before?.riskAssessment,
    edits: action.edits ?? before?.edits,
    editable: action.editable ?? before?.editable,
    ...(options === undefined ? {} : { options })
  }
}

const confirmed = (call: ToolCall, action: ActionOf<"chat/toolCallConfirmed">): ToolCall => {
  if (call.status !== "pending-confirmation") return call
  const base = { ...baseOf(call, action._meta), invocationMessage: call.invocationMessage }
  const option = call.options?.find(({ id }) => id === action.selectedOptionId)
  const selected = option === undefined ? {} : { selectedOption: option }
  if (action.approved)
    return {
      status: "running",
      ...base,
      toolInput:
        action.editedToolInput !== undefined && typeof call.toolInput === "string"
          ? action.editedToolInput
          : call.toolInput,
      confirmed: action.confirmed,
      ...selected
    }
  return {
    status: "cancelled",
    ...base,
    toolInput: call.toolInput,
    reason: action.reason,
    reasonMessage: action.reasonMessage,
    userSuggestion: action.userSuggestion,
    ...selected
  }
}

const complete = (call: ToolCall, action: ActionOf<"chat/toolCallComplete">): ToolCall => {
  const isRunning = call.status === "running" || call.status === "auth-required"
  if (!isRunning && call.status !== "pending-confirmation") return call
  if (call.status === "auth-required" && action.result.success) return call
  const common = {
    ...baseOf(call, action._meta),
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    confirmed: isRunning ? call.confirmed : ("not-needed" as const),
    ...(isRunning ? chosen(call) : {}),
    ...(call.status === "auth-required" && call.content !== undefined ? { content: call.content } : {}),
    ...action.result
  }
  return action.requiresResultConfirmation === true && call.status !== "auth-required"
    ? { status: "pending-result-confirmation", ...common }
    : { status: "completed", ...common }
}

const resultConfirmed = (call: ToolCall, action: ActionOf<"chat/toolCallResultConfirmed">): ToolCall => {
  if (call.status !== "pending-result-confirmation") return call
  const common = {
    ...baseOf(call, action._meta),
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    ...chosen(call)
  }
  if (!action.approved) return { status: "cancelled", ...common, reason: "result-denied" }
  const { confirmed: how, content, error, pastTenseMessage, structuredContent, success } = call
  return {
    status: "completed",
    ...common,
    confirmed: how,
    success,
    pastTenseMessage,
    content,
    structuredContent,
    error
  }
}

const authorization = (
  call: ToolCall,
  action: ActionOf<"chat/toolCallAuthRequired" | "chat/toolCallAuthResolved">
): ToolCall => {
  if (call.status !== "running" && call.status !== "auth-required") return call
  const common = {
    ...baseOf(call, action._meta),
    invocationMessage: call.invocationMessage,
    toolInput: call.toolInput,
    confirmed: call.confirmed,
    ...chosen(call),
    ...(call.content === undefined ? {} : { content: call.content })
  }
  if (action.type === "chat/toolCallAuthResolved")
    return call.status === "auth-required" ? { status: "running", ...common } : call
  return call.status === "running" && call.contributor?.kind === "mcp"
    ? { status: "auth-required", ...common, auth: action.auth }
    : call
}

export const toolCallReducer = (call: ToolCall, action: ToolCallChange): ToolCall => {
  switch (action.type) {
    case "chat/toolCallDelta":
      return call.status === "streaming"
        ? {
            ...call,
            ...(action._meta === undefined ? {} : { _meta: action._meta }),
            ...(action.content === undefined
              ? {}
              : { partialInput: `${call.partialInput ?? ""}${action.content}` }),
            invocationMessage: action.invocationMessage ?? call.invocationMessage
          }
        : call
    case "chat/toolCallReady":
      return ready(call, action)
    case "chat/toolCallConfirmed":
      return confirmed(call, action)
    case "chat/toolCallComplete":
      return complete(call, action)
    case "chat/toolCallResultConfirmed":
      return resultConfirmed(call, action)
    case "chat/toolCallContentChanged":
      return call.status === "running"
        ? { ...call, ...(action._meta === undefined ? {} : { _meta: action._meta }), content: action.content }
        : call
    case "chat/toolCallAuthRequired":
    case "chat/toolCallAuthResolved":
      return authorization(call, action)
  }
}
