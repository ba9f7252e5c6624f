/** Actions on the state of the channels, and which of them a client may send. */
import type {
  ActiveClient,
  AgentInfo,
  AnswerState,
  CancellationReason,
  ChangesetFile,
  ChangesetOperation,
  Changeset,
  ChatSummary,
  ConfirmationOption,
  ConfirmationReason,
  ErrorInfo,
  ErrorPart,
  InputNeeded,
  InputRequestState,
  InputResponse,
  Message,
  Meta,
  ResponsePart,
  StringOrMarkdown,
  ToolCallResult,
  ToolResultContent,
  Turn,
  UsageInfo
} from "./State.ts"

type Values = Readonly<Record<string, unknown>>

export type RootAction =
  | { readonly type: "root/agentsChanged"; readonly agents: ReadonlyArray<AgentInfo> }
  | { readonly type: "root/activeSessionsChanged"; readonly activeSessions: number }
  | { readonly type: "root/terminalsChanged"; readonly terminals: ReadonlyArray<unknown> }
  | { readonly type: "root/configChanged"; readonly config: Values; readonly replace?: boolean }

export type SessionAction =
  | { readonly type: "session/ready" }
  | { readonly type: "session/creationFailed"; readonly error: ErrorInfo }
  | { readonly type: "session/chatAdded"; readonly summary: ChatSummary }
  | { readonly type: "session/chatRemoved"; readonly chat: string }
  | { readonly type: "session/chatUpdated"; readonly chat: string; readonly changes: Partial<ChatSummary> }
  | { readonly type: "session/defaultChatChanged"; readonly defaultChat?: string }
  | { readonly type: "session/titleChanged"; readonly title: string }
  | { readonly type: "session/serverToolsChanged"; readonly tools: ReadonlyArray<unknown> }
  | { readonly type: "session/activeClientSet"; readonly activeClient: ActiveClient }
  | { readonly type: "session/activeClientRemoved"; readonly clientId: string }
  | {
      readonly type: "session/workingDirectorySet" | "session/workingDirectoryRemoved"
      readonly directory: string
    }
  | {
      readonly type: "session/workingDirectoryReplaced"
      readonly directory: string
      readonly replacement: string
    }
  | { readonly type: "session/inputNeededSet"; readonly request: InputNeeded }
  | { readonly type: "session/inputNeededRemoved"; readonly id: string }
  | { readonly type: "session/isReadChanged"; readonly isRead: boolean }
  | { readonly type: "session/isArchivedChanged"; readonly isArchived: boolean }
  | { readonly type: "session/activityChanged"; readonly activity: string | null }
  | { readonly type: "session/changesetsChanged"; readonly changesets?: ReadonlyArray<Changeset> }
  | { readonly type: "session/configChanged"; readonly config: Values; readonly replace?: boolean }
  | { readonly type: "session/metaChanged"; readonly _meta: Meta }

interface OfTurn {
  readonly turnId: string
}
interface OfCall extends OfTurn {
  readonly toolCallId: string
  readonly _meta?: Meta
}

export type ChatAction =
  | ({
      readonly type: "chat/turnStarted"
      readonly startedAt: string
      readonly message: Message
      readonly queuedMessageId?: string
    } & OfTurn)
  | ({
      readonly type: "chat/delta" | "chat/reasoning"
      readonly partId: string
      readonly content: string
    } & OfTurn)
  | ({ readonly type: "chat/responsePart"; readonly part: ResponsePart } & OfTurn)
  | ({ readonly type: "chat/turnComplete" | "chat/turnCancelled"; readonly duration: number } & OfTurn)
  | ({ readonly type: "chat/error"; readonly duration: number; readonly part: ErrorPart } & OfTurn)
  | ({ readonly type: "chat/turnResume" } & OfTurn)
  | { readonly type: "chat/activityChanged"; readonly activity: string | null }
  | {
      readonly type: "chat/workingDirectorySet" | "chat/workingDirectoryRemoved"
      readonly directory: string
    }
  | ({
      readonly type: "chat/toolCallStart"
      readonly toolName: string
      readonly displayName: string
      readonly intention?: string
      readonly contributor?: { readonly kind: string; readonly clientId?: string }
    } & OfCall)
  | ({
      readonly type: "chat/toolCallDelta"
      readonly content?: string
      readonly invocationMessage?: StringOrMarkdown
    } & OfCall)
  | ({
      readonly type: "chat/toolCallReady"
      readonly invocationMessage: StringOrMarkdown
      readonly toolInput?: string
      readonly intention?: string
      readonly contributor?: { readonly kind: string; readonly clientId?: string }
      readonly confirmationTitle?: StringOrMarkdown
      readonly riskAssessment?: unknown
      readonly edits?: unknown
      readonly editable?: boolean
      readonly options?: ReadonlyArray<ConfirmationOption>
      readonly confirmed?: ConfirmationReason
    } & OfCall)
  | ({
      readonly type: "chat/toolCallConfirmed"
      readonly selectedOptionId?: string
    } & OfCall &
      (
        | {
            readonly approved: true
            readonly confirmed: ConfirmationReason
            readonly editedToolInput?: string
          }
        | {
            readonly approved: false
            readonly reason: CancellationReason
            readonly reasonMessage?: StringOrMarkdown
            readonly userSuggestion?: Message
          }
      ))
  | ({
      readonly type: "chat/toolCallComplete"
      readonly result: ToolCallResult
      readonly requiresResultConfirmation?: boolean
    } & OfCall)
  | ({ readonly type: "chat/toolCallResultConfirmed"; readonly approved: boolean } & OfCall)
  | ({
      readonly type: "chat/toolCallContentChanged"
      readonly content: ReadonlyArray<ToolResultContent>
    } & OfCall)
  | ({ readonly type: "chat/toolCallAuthRequired"; readonly auth: unknown } & OfCall)
  | ({ readonly type: "chat/toolCallAuthResolved" } & OfCall)
  | ({ readonly type: "chat/usage"; readonly usage: UsageInfo } & OfTurn)
  | {
      readonly type: "chat/pendingMessageSet"
      readonly kind: "steering" | "queued"
      readonly id: string
      readonly message: Message
    }
  | {
      readonly type: "chat/pendingMessageRemoved"
      readonly kind: "steering" | "queued"
      readonly id: string
    }
  | { readonly type: "chat/queuedMessagesReordered"; readonly order: ReadonlyArray<string> }
  | { readonly type: "chat/draftChanged"; readonly draft?: Message }
  | { readonly type: "chat/inputRequested"; readonly request: InputRequestState }
  | {
      readonly type: "chat/inputAnswerChanged"
      readonly requestId: string
      readonly questionId: string
      readonly answer?: AnswerState
    }
  | {
      readonly type: "chat/inputCompleted"
      readonly requestId: string
      readonly response: InputResponse
      readonly answers?: Readonly<Record<string, AnswerState>>
    }
  | { readonly type: "chat/truncated"; readonly turnId?: string }
  | {
      readonly type: "chat/turnsLoaded"
      readonly turns: ReadonlyArray<Turn>
      readonly turnsNextCursor?: string
    }

export type ChangesetAction =
  | {
      readonly type: "changeset/statusChanged"
      readonly status: "computing" | "ready" | "error"
      readonly error?: ErrorInfo
    }
  | { readonly type: "changeset/fileSet"; readonly file: ChangesetFile }
  | { readonly type: "changeset/fileRemoved"; readonly fileId: string }
  | {
      readonly type: "changeset/filesReviewChanged"
      readonly files: ReadonlyArray<string>
      readonly reviewed: boolean
    }
  | {
      readonly type: "changeset/contentChanged"
      readonly files: ReadonlyArray<ChangesetFile>
      readonly operations?: ReadonlyArray<ChangesetOperation>
    }
  | {
      readonly type: "changeset/operationsChanged"
      readonly operations?: ReadonlyArray<ChangesetOperation>
    }
  | {
      readonly type: "changeset/operationStatusChanged"
      readonly operationId: string
      readonly status: "idle" | "running" | "error" | "disabled"
      readonly error?: ErrorInfo
    }
  | { readonly type: "changeset/cleared" }

export type StateAction = RootAction | SessionAction | ChatAction | ChangesetAction

/** An action that was accepted or refused, with its place in what the client receives. */
export interface ActionEnvelope {
  readonly channel: string
  readonly action: StateAction | SentAction
  readonly serverSeq: number
  readonly origin?: { readonly clientId: string; readonly clientSeq: number }
  readonly rejectionReason?: string
}

/** An action as a client sent it, of a type that the host may not support. */
export interface SentAction {
  readonly type: string
  readonly [field: string]: unknown
}
