/**
 * The protocol's schema at the boundary: guards for its closed lists of names, the type of a message as an agent sent it, and the fields that agents send
 * or accept and the stable schema of version 1 does not have. The recordings in `test/fixtures` show these fields. Delete one here when the schema has it.
 * Also the call of the sub-agent that a report belongs to, which agents send in fields of `_meta`.
 *
 * The SDK's types make each list complete, so a name that a later version adds is a type error here, and in each `switch` that lacks it.
 */
import type * as Acp from "@agentclientprotocol/sdk"
import { type JsonObject, isJsonObject, objectOf, textOf } from "../text/Json.ts"

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

/** Token counts of a turn. Draft of the protocol; Claude, Codex, Copilot and OpenCode send them in the response to `session/prompt`. */
interface TurnTokens {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  readonly cachedReadTokens: number
  readonly cachedWriteTokens: number
  readonly thoughtTokens: number
}

/** Token counts by the names that agents give them. */
export interface TokenCounts extends TurnTokens {
  /** Gemini. */
  readonly input_tokens: number
  readonly output_tokens: number
  /** Claude and Codex, by model. */
  readonly cachedInputTokens: number
  readonly cacheWriteInputTokens: number
  readonly reasoningOutputTokens: number
  /** Grok. */
  readonly cacheCreationTokens: number
  readonly reasoningTokens: number
  readonly modelCalls: number
}

export type PromptResponse = Acp.PromptResponse & { readonly usage: TurnTokens }

/** `_meta` of a prompt's response. Gemini and Grok have their token counts there; these, Claude and Codex have those of each model. */
export interface PromptMeta {
  readonly usage: TokenCounts & { readonly modelUsage: Readonly<Record<string, TokenCounts>> }
  readonly quota: { readonly token_count: TokenCounts; readonly model_usage: ReadonlyArray<ModelUsage> }
}
export interface ModelUsage {
  readonly model: string
  readonly token_count: TokenCounts
}

/** `_meta` of a message chunk. Qwen sends the tokens of one model call with an empty chunk. */
export interface ChunkMeta {
  readonly usage: TurnTokens
}

/** Models of a session, in the form that preceded `configOptions`. Codex, Gemini and Qwen send it. */
export interface SessionModelState {
  readonly currentModelId: string
  readonly availableModels: ReadonlyArray<{ readonly modelId: string }>
}

/** Response that opens a session, by any of the three methods. */
export type SessionResponse = (
  | Acp.NewSessionResponse
  | Acp.LoadSessionResponse
  | Acp.ResumeSessionResponse
) & { readonly models: SessionModelState }

/** Params of `session/set_model`, which goes with `SessionModelState`. */
export interface SetSessionModelRequest {
  readonly sessionId: Acp.SessionId
  readonly modelId: string
}

/** `_meta` of a tool call, with the agents' terminals and tool names. */
export interface ToolCallMeta {
  /** Claude and Qwen; Claude under `_meta.claudeCode`. */
  readonly toolName: string
  /** Codex: output of a command, in pieces. */
  readonly terminal_output_delta: { readonly data: string }
  /** Codex: end of a command. */
  readonly terminal_exit: { readonly exit_code: number }
}

/** Each agent's own part of `_meta` of a tool call, such as `_meta.claudeCode`. */
export interface AgentToolMeta {
  readonly toolName: string
  /** Claude: why a call was not executed, `user-rejected` or `permission-rule`. */
  readonly nonExecutionKind: string
}

/** `_meta` of a diff. Codex and Gemini say what happens to the file: `add`, `modify`, `update` or `delete`. */
export interface DiffMeta {
  readonly kind: string
}

/** Params of the notification `_auth/status_update`, which Claude and Codex send: whether the user is signed in, and how. */
export interface AuthStatusUpdate {
  readonly authStatus: { readonly kind: string }
}

/** `data` of an error. Claude and OpenCode send its kind; others send details or an HTTP status. */
export interface ErrorData {
  readonly details: string
  readonly errorKind: string
  readonly errorName: string
  readonly status: number
  readonly statusCode: number
}

/** Part of `_meta` of `session_info_update` under `AcpAgent.statusKey`: Codex reports failed turns and retries. */
export interface StatusMeta {
  readonly threadStatus: { readonly type: string }
  readonly error: { readonly willRetry: boolean }
}

/** Result of a shell command in `rawOutput`, which the schema leaves open. */
export interface RawOutput {
  /** OpenCode: exit code of a command, whether a file existed, whether a call was interrupted. */
  readonly metadata: { readonly exit: number; readonly exists: boolean; readonly interrupted: boolean }
  /** Codex. */
  readonly exit_code: number
  /** Qwen. */
  readonly exitCode: number
  /** Copilot: the part with the type `shell_exit` has the exit code. */
  readonly contents: ReadonlyArray<ShellExit>
  /** Qwen: `cancelled`. */
  readonly outcome: string
  /** Copilot: `denied` or `rejected`. */
  readonly code: string
  readonly output: string
  readonly content: string
  readonly error: string
  readonly message: string
}
export interface ShellExit {
  readonly type: string
  readonly exitCode: number
}

/** The sub-agent's call in `_meta` of a report: Claude under `claudeCode`, Qwen directly. */
interface NestingMeta {
  readonly parentToolUseId: string
  readonly parentToolCallId: string
}

/** Questions in `_meta` of the call of a permission request. Qwen sends them. */
export interface QuestionMeta {
  readonly qwenInteractionKind: string
  readonly qwenQuestions: ReadonlyArray<AgentQuestion>
}
export interface AgentQuestion {
  readonly question: string
  readonly header: string
  readonly multiSelect: boolean
  readonly options: ReadonlyArray<{ readonly label: string; readonly description: string }>
}
/** The response to them: answers by the number of their question. */
export type AnsweredPermission = Acp.RequestPermissionResponse & {
  readonly answers: Readonly<Record<string, string>>
}

/** Background task of Claude and Codex: a command, or a further turn with the type `turn`. */
export interface AsyncTask {
  readonly asyncTaskId: string
  readonly name: string
  readonly description: string
  readonly taskType: string
  readonly state: string
  readonly toolCallId: string
}

/** Sub-agent that has its own conversation: Claude, and Grok with the last three fields. */
export interface SubAgent {
  readonly subagentSessionId: string
  readonly name: string
  readonly prompt: string
  readonly task: string
  readonly state: string
  readonly child_session_id: string
  readonly description: string
  readonly status: string
}

/** `_meta` of a message with which Qwen reports the end of a background task. */
export interface BackgroundMeta {
  readonly source: string
  readonly backgroundTask: TaskReport
}
export interface TaskReport {
  readonly taskId: string
  readonly status: string
}

const parentField = ({ parentToolCallId, parentToolUseId }: UnverifiedFields<NestingMeta>) =>
  textOf(parentToolUseId) ?? textOf(parentToolCallId)

/** The parent's id in `_meta`, or in an agent's own part of it; `undefined` for the agent itself. */
export const parentCallIn = (meta: unknown): string | undefined => {
  if (!isJsonObject(meta)) return undefined
  const direct = parentField(meta)
  if (direct !== undefined) return direct
  for (const ofAgent of Object.values(meta)) {
    const parent = isJsonObject(ofAgent) ? parentField(ofAgent) : undefined
    if (parent !== undefined) return parent
  }
  return undefined
}

/** A report with the call of its sub-agent, if its session is one of a sub-agent. */
export const nestedIn = (report: JsonObject, parentCallId: string | undefined): JsonObject =>
  parentCallId === undefined
    ? report
    : { ...report, _meta: { ...objectOf(report["_meta"]), parentToolUseId: parentCallId } }
