/**
 * Guards for the closed lists of names in the protocol's schema. The SDK's types make each list complete, so a name that a later
 * version adds is a type error here, and in each `switch` that lacks it.
 */
import type * as Acp from "@agentclientprotocol/sdk"

/** Discriminator of a `session/update`. */
export type UpdateKind = Acp.SessionUpdate["sessionUpdate"]

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
