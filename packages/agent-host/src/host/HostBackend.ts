/**
 * What the host needs from an Edge or a Hub, for one connection of one signed-in caller.
 *
 * Guarantees, of every implementation: each call passes the authorization of the HTTP route with the same purpose. A call that repeats a `key` is
 * carried out once. A resource that the caller may not see fails with `not_found`.
 * Does not: know the Agent Host Protocol, HTTP or WebSockets.
 */
import type { DecideApproval } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { FilePreview, FoundFiles } from "@corral/domain/device/Workspace"
import type {
  AcceptChanges,
  ChangedFile,
  ChangedFileContent,
  ChangeSet,
  DecidedChanges,
  RejectChanges,
  UndoChanges
} from "@corral/domain/edge-api/ChangeSet"
import { type Failure, SchemaValidationFailed } from "@corral/domain/errors/Failures"
import { issuesOf } from "@corral/domain/errors/ValidationIssues"
import type { HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type {
  AgentId,
  ChangedFileId,
  InputRequestId,
  RunId,
  SessionId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import type { InputAnswer } from "@corral/domain/input/InputRequest"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { Effect, Schema, type Stream } from "effect"

/** The caller. `id` is equal for connections of the same sign-in, and differs between sign-ins. */
export interface HostCaller {
  readonly id: string
  /** Whose limits it counts for. */
  readonly userId: string
  readonly name: string
  /** `local`: the owner of the Edge's token. */
  readonly kind: "local" | "user" | "api_key"
}

/** What the caller may do in a session. An API key may not decide. */
export interface HostRights {
  readonly maySend: boolean
  readonly mayDecide: boolean
}

export interface HostModel {
  readonly id: string
  readonly name: string
}

/** An agent that is available in at least one workspace of the connection. */
export interface HostAgent {
  readonly id: AgentId
  readonly label: string
  readonly description: string
  /** Models that can be named. Empty if the agent chooses. */
  readonly models: ReadonlyArray<HostModel>
  /** Modes that agent and workspaces support, the usual one first. */
  readonly modes: ReadonlyArray<RunMode>
}

/** A workspace of the connection, with the absolute path of the folder that the client has open for it. */
export interface HostWorkspace {
  readonly id: WorkspaceId
  readonly name: string
  readonly folder: string
  readonly modes: ReadonlyArray<RunMode>
}

/** `waiting`: an approval or a question is open. */
export type HostActivity = "idle" | "running" | "waiting" | "failed"

/** An agent of a session with its conversation. `id` never changes. */
export interface HostChat {
  readonly id: string
  readonly title: string
  readonly agentId: AgentId
  readonly activity: HostActivity
  readonly updatedAt: string
  readonly model?: string
  readonly mode?: RunMode
  /** Whether it only can be read: its session is archived, or another candidate was chosen. */
  readonly readOnly?: true
}

/** A session of a workspace. Times are ISO 8601. */
export interface HostSession {
  readonly id: SessionId
  readonly title: string
  readonly workspace: WorkspaceId
  /** Its first agent, which never changes: the address of the session has its id. */
  readonly agentId: AgentId
  readonly createdAt: string
  readonly updatedAt: string
  readonly archived: boolean
  /** Whether it has something that the caller has not read. Absent if that is unknown. */
  readonly unread?: boolean
  /** The first agent first. Not empty. */
  readonly chats: readonly [HostChat, ...ReadonlyArray<HostChat>]
  /** Id of the chat that receives messages without a recipient. */
  readonly defaultChat: string
  readonly rights: HostRights
  /** Undecided changes. Absent if there are none. */
  readonly changes?: { readonly files: number; readonly additions: number; readonly deletions: number }
  /** Names of users, by the ids that events have. Can lack users. */
  readonly people: ReadonlyMap<string, string>
}

export interface HostPage<Item> {
  readonly items: ReadonlyArray<Item>
  /** `null` on the last page. */
  readonly nextCursor: string | null
}

/** A run of a chat. */
export interface HostRun {
  readonly id: RunId
  readonly agentId: AgentId
  readonly state: HubRunStatus
  readonly mode: RunMode
  readonly model?: string
  /** The message that started it. */
  readonly text: string
  /** Present if `send` started it: the key of that call, if the service has it. */
  readonly key?: string
  /** Position of its newest event. 0 if no Edge has the run yet, or has answered before its end. */
  readonly lastSeq: number
  /** Why it failed. */
  readonly error?: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** A message to an agent. */
export interface HostMessage {
  /** A session that does not exist begins with this message, under this id, in this workspace and with this agent. */
  readonly sessionId: SessionId
  readonly workspace: WorkspaceId
  readonly agentId: AgentId
  /** Absent in a session that does not exist. */
  readonly chatId?: string
  readonly text: string
  readonly mode: RunMode
  readonly model?: string
  /** `turn`: it starts a turn. `now`: input to the run in progress. `next`: it starts the next turn, after the run in progress. */
  readonly when: "turn" | "now" | "next"
  readonly key: string
}

/** Where a message went. Without `runId` it waits for its run, and `runs` has it with the `key` later. */
export interface SentMessage {
  readonly sessionId: SessionId
  readonly chatId: string
  readonly runId?: RunId
}

/** A message that waits for its turn. `key`: that of its `send`, if the service has it, otherwise another id of it. */
export interface WaitingMessage {
  readonly key: string
  readonly text: string
}

/** A chat by its session. */
export interface ChatPlace {
  readonly sessionId: SessionId
  readonly chatId: string
}

export type ChangesDecision =
  | { readonly kind: "accept"; readonly payload: AcceptChanges }
  | { readonly kind: "reject"; readonly payload: RejectChanges }
  | { readonly kind: "undo"; readonly payload: UndoChanges }

/** A change set with its first files, in the order of their paths. `more`: it has further files. */
export interface HostChanges {
  readonly set: ChangeSet
  readonly files: ReadonlyArray<ChangedFile>
  readonly more: boolean
}

/**
 * A hint that something changed. The host reads it again. `session`: created, changed, removed, a new run, a run's state, or its change sets.
 * `agents`: agents, models or workspaces. Hints can be lost or merged only if a later one says the same.
 */
export type HostHint =
  | { readonly kind: "session"; readonly sessionId: SessionId }
  | { readonly kind: "sessions" }
  | { readonly kind: "agents" }

export interface HostBackend {
  readonly caller: HostCaller
  /** Completes with a sentence for people when the right to the connection ends, such as with the sign-in, the membership or the token. */
  readonly ended: Effect.Effect<string>
  readonly agents: Effect.Effect<ReadonlyArray<HostAgent>, Failure>
  readonly workspaces: Effect.Effect<ReadonlyArray<HostWorkspace>, Failure>
  /** Newest first. */
  readonly sessions: (page: {
    readonly limit: number
    readonly cursor?: string
  }) => Effect.Effect<HostPage<HostSession>, Failure>
  readonly session: (id: SessionId) => Effect.Effect<HostSession, Failure>
  /** Runs of a chat, newest first, without those that another run replaced. */
  readonly runs: (chat: {
    readonly sessionId: SessionId
    readonly chatId: string
    readonly limit: number
    readonly cursor?: string
  }) => Effect.Effect<HostPage<HostRun>, Failure>
  /**
   * Events of a run after a position, 0 for all. Stays open until the last event of the run. An event is at most once in the stream. The stream
   * fails when the right to read the run ends.
   */
  readonly events: (id: RunId, after: number) => Stream.Stream<SequencedEvent, Failure>
  /** Open as long as the connection. Hints from the moment at which the stream starts. */
  readonly hints: Stream.Stream<HostHint, Failure>
  /** A message that waits is stored, and outlives a restart of the service. */
  readonly send: (message: HostMessage) => Effect.Effect<SentMessage, Failure>
  /** Messages of a chat that wait for the end of a run, in order. */
  readonly waiting: (chat: ChatPlace) => Effect.Effect<ReadonlyArray<WaitingMessage>, Failure>
  /** Takes back a message that waits. `key` is the one of `waiting`. */
  readonly withdraw: (chat: ChatPlace, key: string) => Effect.Effect<void, Failure>
  readonly cancel: (id: RunId, key: string) => Effect.Effect<void, Failure>
  /** Recorded with the origin `editor`. */
  readonly decide: (decision: DecideApproval, key: string) => Effect.Effect<void, Failure>
  /** Recorded with the origin `editor`. An approved plan is carried out: the message that follows is sent by the implementation. */
  readonly answer: (
    request: { readonly runId: RunId; readonly inputId: InputRequestId },
    answer: InputAnswer,
    key: string
  ) => Effect.Effect<void, Failure>
  /** Archives a session. Its runs continue. */
  readonly archive: (id: SessionId, key: string) => Effect.Effect<void, Failure>
  /** The change set of the newest run of a chat that has one. Fails with `not_found` if there is none. */
  readonly changes: (chat: {
    readonly sessionId: SessionId
    readonly chatId: string
    readonly limit: number
  }) => Effect.Effect<HostChanges, Failure>
  /** Undecided hunks of a file, with as much context as the service gives. `runId` is the one of the set. */
  readonly changedFile: (
    runId: RunId,
    file: ChangedFileId
  ) => Effect.Effect<Omit<ChangedFileContent, "nextCursor" | "requestId">, Failure>
  /** Recorded with the origin `editor`. */
  readonly decideChanges: (
    runId: RunId,
    decision: ChangesDecision,
    key: string
  ) => Effect.Effect<DecidedChanges, Failure>
  /** A file of a workspace. The path is relative. */
  readonly readFile: (workspace: WorkspaceId, path: string) => Effect.Effect<FilePreview, Failure>
  /** Entries of a folder of a workspace. */
  readonly listFolder: (workspace: WorkspaceId, path: string) => Effect.Effect<FoundFiles, Failure>
}

/** Fails unless the value has the schema of the route's body. */
export const requireValid = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  value: S["Type"]
): Effect.Effect<void, SchemaValidationFailed> =>
  Schema.decodeUnknownEffect(schema)(value).pipe(
    Effect.mapError(({ issue }) => new SchemaValidationFailed({ details: { issues: issuesOf(issue) } })),
    Effect.asVoid
  )
