/**
 * State of the channels that the host serves, as version 0.9.0 of the Agent Host Protocol has it: the root, a session, a chat and a changeset.
 *
 * Fields that this host neither writes nor reads are left out. Times are ISO 8601.
 */

export type StringOrMarkdown = string | { readonly markdown: string }
export type Meta = Readonly<Record<string, unknown>>

export interface ErrorInfo {
  readonly errorType: string
  readonly message: string
  readonly _meta?: Meta
}

/** Property of a configuration, as a part of JSON Schema. */
export interface ConfigProperty {
  readonly type: "string" | "number" | "boolean" | "array" | "object"
  readonly title: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: ReadonlyArray<string>
  readonly enumLabels?: ReadonlyArray<string>
  readonly enumDescriptions?: ReadonlyArray<string>
  readonly readOnly?: boolean
  readonly sessionMutable?: boolean
}

export interface ConfigSchema {
  readonly type: "object"
  readonly properties: Readonly<Record<string, ConfigProperty>>
}

export interface ConfigState {
  readonly schema: ConfigSchema
  readonly values: Readonly<Record<string, unknown>>
}

export interface ModelInfo {
  readonly id: string
  readonly provider: string
  readonly name: string
}

/** `protectedResources` stays absent: the sign-in is the connection's. With a required one VS Code asks for a GitHub account. */
export interface AgentInfo {
  readonly provider: string
  readonly displayName: string
  readonly description: string
  readonly models: ReadonlyArray<ModelInfo>
}

export interface RootState {
  readonly agents: ReadonlyArray<AgentInfo>
  readonly activeSessions?: number
  readonly terminals?: ReadonlyArray<unknown>
  readonly config?: ConfigState
}

/** Bits of a status. `inputNeeded` includes `inProgress`. */
export const statusBits = {
  idle: 1,
  error: 2,
  inProgress: 8,
  inputNeeded: 24,
  isRead: 32,
  isArchived: 64
} as const

/** The bits that say what a session or a chat is doing. */
export const ACTIVITY_BITS = 31

export interface ChangesSummary {
  readonly additions?: number
  readonly deletions?: number
  readonly files?: number
}

export interface SessionSummary {
  readonly resource: string
  readonly provider: string
  readonly title: string
  readonly status: number
  readonly activity?: string
  readonly createdAt: string
  readonly modifiedAt: string
  readonly workingDirectories?: ReadonlyArray<string>
  readonly changes?: ChangesSummary
}

export interface ChatSummary {
  readonly resource: string
  readonly title: string
  readonly status: number
  readonly activity?: string
  readonly modifiedAt: string
  readonly interactivity?: "full" | "read-only" | "hidden"
  readonly workingDirectories?: ReadonlyArray<string>
}

export interface ActiveClient {
  readonly clientId: string
  readonly displayName?: string
  readonly tools: ReadonlyArray<unknown>
}

export interface Changeset {
  readonly label: string
  readonly uriTemplate: string
  readonly description?: string
  readonly changeKind: string
}

/** A tool call or a question of a chat that waits for a person, as the session lists it. */
export interface InputNeeded {
  readonly id: string
  readonly kind: "toolConfirmation" | "chatInput" | "toolClientExecution"
  readonly chat: string
  readonly turnId?: string
  readonly toolCall?: ToolCall
  readonly request?: InputRequestState
}

export interface SessionState {
  readonly resource?: string
  readonly provider: string
  readonly title: string
  readonly status: number
  readonly activity?: string | null
  readonly createdAt?: string
  readonly modifiedAt?: string
  readonly lifecycle: "creating" | "ready" | "failed"
  readonly creationError?: ErrorInfo
  readonly serverTools?: ReadonlyArray<unknown>
  readonly activeClients: ReadonlyArray<ActiveClient>
  readonly chats: ReadonlyArray<ChatSummary>
  readonly defaultChat?: string
  readonly config?: ConfigState
  readonly workingDirectories?: ReadonlyArray<string>
  readonly changesets?: ReadonlyArray<Changeset>
  readonly inputNeeded?: ReadonlyArray<InputNeeded>
  readonly changes?: ChangesSummary
  readonly _meta?: Meta
}

export interface ModelSelection {
  readonly id: string
  readonly config?: Readonly<Record<string, unknown>>
}

export interface Message {
  readonly text: string
  readonly origin: { readonly kind: string }
  readonly attachments?: ReadonlyArray<unknown>
  readonly model?: ModelSelection
  readonly _meta?: Meta
}

export interface UsageInfo {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly model?: string
  readonly cacheReadTokens?: number
  readonly _meta?: Meta
}

export interface ConfirmationOption {
  readonly id: string
  readonly label: string
  readonly kind: "approve" | "deny"
  readonly group?: number
}

export type ToolResultContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "embeddedResource"; readonly data: string; readonly contentType: string }
  | { readonly type: "fileEdit"; readonly [field: string]: unknown }
  /** The chat of a sub-agent that the call has started. */
  | { readonly type: "subagent"; readonly resource: string; readonly title: string }

export interface ToolCallResult {
  readonly success: boolean
  readonly pastTenseMessage: StringOrMarkdown
  readonly content?: ReadonlyArray<ToolResultContent>
  readonly structuredContent?: Meta
  readonly error?: { readonly message: string; readonly code?: string }
}

export type ConfirmationReason = "not-needed" | "user-action" | "setting"
export type CancellationReason = "denied" | "skipped" | "result-denied"

interface ToolCallBase {
  readonly toolCallId: string
  readonly toolName: string
  readonly displayName: string
  readonly intention?: string | undefined
  readonly contributor?: { readonly kind: string; readonly clientId?: string } | undefined
  readonly _meta?: Meta | undefined
}

interface ToolCallParameters {
  readonly invocationMessage: StringOrMarkdown
  readonly toolInput?: string | undefined
}

interface AfterConfirmation {
  readonly confirmed: ConfirmationReason
  readonly selectedOption?: ConfirmationOption
}

export interface StreamingCall extends ToolCallBase {
  readonly status: "streaming"
  readonly partialInput?: string
  readonly invocationMessage?: StringOrMarkdown | undefined
}
export interface PendingCall extends ToolCallBase, ToolCallParameters {
  readonly status: "pending-confirmation"
  readonly confirmationTitle?: StringOrMarkdown | undefined
  readonly riskAssessment?: unknown
  readonly edits?: unknown
  readonly editable?: boolean | undefined
  readonly options?: ReadonlyArray<ConfirmationOption>
}
export interface RunningCall extends ToolCallBase, ToolCallParameters, AfterConfirmation {
  readonly status: "running"
  readonly content?: ReadonlyArray<ToolResultContent>
}
export interface AuthRequiredCall extends ToolCallBase, ToolCallParameters, AfterConfirmation {
  readonly status: "auth-required"
  readonly auth: unknown
  readonly content?: ReadonlyArray<ToolResultContent>
}
export interface PendingResultCall
  extends ToolCallBase, ToolCallParameters, AfterConfirmation, ToolCallResult {
  readonly status: "pending-result-confirmation"
}
export interface CompletedCall extends ToolCallBase, ToolCallParameters, AfterConfirmation {
  readonly status: "completed"
  readonly success: boolean
  readonly pastTenseMessage: StringOrMarkdown
  readonly content?: ReadonlyArray<ToolResultContent> | undefined
  readonly structuredContent?: Meta | undefined
  readonly error?: { readonly message: string; readonly code?: string } | undefined
}
export interface CancelledCall extends ToolCallBase {
  readonly status: "cancelled"
  readonly invocationMessage: StringOrMarkdown
  readonly toolInput?: string | undefined
  readonly reason: CancellationReason
  readonly reasonMessage?: StringOrMarkdown | undefined
  readonly userSuggestion?: Message | undefined
  readonly selectedOption?: ConfirmationOption
}
export type ToolCall =
  | StreamingCall
  | PendingCall
  | RunningCall
  | AuthRequiredCall
  | PendingResultCall
  | CompletedCall
  | CancelledCall

export interface InputOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

interface QuestionBase {
  readonly id: string
  readonly title?: string
  readonly message: string
  readonly required?: boolean
}

/** A question. This host asks no `boolean`: clients preselect `true` and send it as an answer. */
export type InputQuestion =
  | (QuestionBase & { readonly kind: "text"; readonly format?: string })
  | (QuestionBase & { readonly kind: "number" | "integer"; readonly min?: number; readonly max?: number })
  | (QuestionBase & {
      readonly kind: "single-select" | "multi-select"
      readonly options: ReadonlyArray<InputOption>
      readonly allowFreeformInput?: boolean
    })

export type AnswerContent =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "boolean"; readonly value: boolean }
  | {
      readonly kind: "selected"
      readonly value: string
      readonly freeformValues?: ReadonlyArray<string>
    }
  | {
      readonly kind: "selected-many"
      readonly value: ReadonlyArray<string>
      readonly freeformValues?: ReadonlyArray<string>
    }

export type AnswerState =
  | { readonly state: "draft" | "submitted"; readonly value: AnswerContent }
  | { readonly state: "skipped"; readonly freeformValues?: ReadonlyArray<string> }

export interface InputRequestState {
  readonly id: string
  readonly message?: string
  readonly url?: string
  readonly questions?: ReadonlyArray<InputQuestion>
  readonly answers?: Readonly<Record<string, AnswerState>> | undefined
}

export type InputResponse = "accept" | "decline" | "cancel"

export interface ErrorPart {
  readonly kind: "error"
  readonly error: ErrorInfo
  readonly resumable?: boolean
}

export type ResponsePart =
  | { readonly kind: "markdown"; readonly id: string; readonly content: string }
  | { readonly kind: "reasoning"; readonly id: string; readonly content: string }
  | { readonly kind: "toolCall"; readonly toolCall: ToolCall }
  | { readonly kind: "systemNotification"; readonly content: StringOrMarkdown; readonly _meta?: Meta }
  | { readonly kind: "inputRequest"; readonly request: InputRequestState; readonly response?: InputResponse }
  | { readonly kind: "contentRef"; readonly uri: string }
  | ErrorPart

export type TurnState = "complete" | "cancelled" | "error"

export interface ActiveTurn {
  readonly id: string
  readonly startedAt: string
  readonly message: Message
  readonly responseParts: ReadonlyArray<ResponsePart>
  readonly usage: UsageInfo | undefined
}

export interface Turn {
  readonly id: string
  readonly startedAt?: string
  readonly duration?: number
  readonly message: Message
  readonly responseParts: ReadonlyArray<ResponsePart>
  readonly usage: UsageInfo | undefined
  readonly state: TurnState
}

export interface PendingMessage {
  readonly id: string
  readonly message: Message
}

export interface ChatState {
  readonly resource: string
  readonly title: string
  readonly status: number
  readonly activity?: string | null
  readonly modifiedAt: string
  readonly interactivity?: "full" | "read-only" | "hidden"
  readonly workingDirectories?: ReadonlyArray<string>
  readonly turns: ReadonlyArray<Turn>
  readonly turnsNextCursor?: string | undefined
  readonly activeTurn?: ActiveTurn | undefined
  readonly steeringMessage?: PendingMessage | undefined
  readonly queuedMessages?: ReadonlyArray<PendingMessage> | undefined
  readonly draft?: Message | undefined
}

/** A file of a changeset: its address and content before and after. */
export interface FileEdit {
  readonly before?: { readonly uri: string; readonly content: { readonly uri: string } }
  readonly after?: { readonly uri: string; readonly content: { readonly uri: string } }
  readonly diff?: { readonly added?: number; readonly removed?: number }
}

export interface ChangesetFile {
  readonly id: string
  readonly edit: FileEdit
  readonly reviewed?: boolean
  readonly _meta?: Meta
}

export interface ChangesetOperation {
  readonly id: string
  readonly label: string
  readonly description?: string
  readonly scopes: ReadonlyArray<"changeset" | "resource" | "range">
  readonly confirmation?: StringOrMarkdown
  readonly icon?: string
  readonly group?: string
  readonly status: "idle" | "running" | "error" | "disabled"
  readonly error?: ErrorInfo
}

export interface ChangesetState {
  readonly status: "computing" | "ready" | "error"
  readonly error?: ErrorInfo | undefined
  readonly files: ReadonlyArray<ChangesetFile>
  readonly operations?: ReadonlyArray<ChangesetOperation>
}
