/**
 * The protocol's schema at the boundary: guards for its closed lists of names, and the type of a message as an agent sent it.
 *
 * The SDK's types make each list complete, so a name that a later version adds is a type error here, and in each `switch` that lacks it.
 */
import type * as Acp from "@agentclientprotocol/sdk"

/** Discriminator of a `session/update`. */
type UpdateKind = Acp.SessionUpdate["sessionUpdate"]

const guardOf = <Name extends string>(names: Readonly<Record<Name, true>>) => {
  const knownNames = new Set<unknown>(Object.keys(names))
  return (value: unknown): value is Name => knownNames.has(value)
}

export const isUpdateKind = guardOf<UpdateKind>({
  user_message_chunk: true,
  agent_message_chunk: true,
  agent_thought_chunk: true,
  tool_call: true,
  tool_call_update: true,
  plan: true,
  available_commands_update: true,
  current_mode_update: true,
  config_option_update: true,
  session_info_update: true,
  usage_update: true,
  notice: true,
  compaction_update: true,
  compaction_summary_chunk: true
})

export const isStopReason = guardOf<Acp.StopReason>({
  end_turn: true,
  max_tokens: true,
  max_turn_requests: true,
  refusal: true,
  cancelled: true
})

export const isToolKind = guardOf<Acp.ToolKind>({
  read: true,
  edit: true,
  delete: true,
  move: true,
  search: true,
  execute: true,
  think: true,
  fetch: true,
  switch_mode: true,
  other: true
})

export const isToolCallStatus = guardOf<Acp.ToolCallStatus>({
  pending: true,
  in_progress: true,
  completed: true,
  failed: true
})

/** Maximum length of an unknown name. */
export const MAX_UNKNOWN_NAME = 100

/**
 * Type of a message as an agent sent it: field names of the protocol's schema, values unknown until a reader of `text/Json` narrows them.
 *
 * Guarantees: reading a field that the schema does not have is a type error.
 * Does not: check anything at run time. Unknown fields and kinds pass.
 */
type FieldsOf<Message> = Message extends unknown ? keyof Message : never

/** Every field that a message, or any member of a union of messages, may have. */
export type UnverifiedFields<Message> = { readonly [Field in FieldsOf<Message>]?: unknown }
