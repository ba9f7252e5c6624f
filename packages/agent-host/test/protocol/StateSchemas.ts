/** Schemas of the state of the channels that the host writes, in the protocol's terms. */
import { Schema } from "effect"
import type * as State from "../../src/protocol/State.ts"
import {
  ErrorInfo,
  InputRequestState,
  Message,
  of,
  ResponsePart,
  StringOrMarkdown,
  ToolCall,
  UsageInfo
} from "./PartSchemas.ts"

const { Array: list, Boolean: flag, Finite: number, String: text, Unknown: unknown } = Schema
const absent = Schema.optionalKey
/** Absent, or without a value in the memory of the reducers. */
const none = Schema.optional
const meta = Schema.Record(text, unknown)

export const SessionStatus = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffffffff }))

const ConfigProperty = of<State.ConfigProperty>()(
  Schema.Struct({
    type: Schema.Literals(["string", "number", "boolean", "array", "object"]),
    title: text,
    description: absent(text),
    default: absent(unknown),
    enum: absent(list(text)),
    enumLabels: absent(list(text)),
    enumDescriptions: absent(list(text)),
    readOnly: absent(flag),
    sessionMutable: absent(flag)
  })
)
const ConfigState = of<State.ConfigState>()(
  Schema.Struct({
    schema: Schema.Struct({
      type: Schema.Literal("object"),
      properties: Schema.Record(text, ConfigProperty)
    }),
    values: meta
  })
)
export const AgentInfo = of<State.AgentInfo>()(
  Schema.Struct({
    provider: text,
    displayName: text,
    description: text,
    models: list(Schema.Struct({ id: text, provider: text, name: text }))
  })
)
export const RootState = of<State.RootState>()(
  Schema.Struct({
    agents: list(AgentInfo),
    activeSessions: absent(number),
    terminals: absent(list(unknown)),
    config: absent(ConfigState)
  })
)

const ChangesSummary = of<State.ChangesSummary>()(
  Schema.Struct({ additions: absent(number), deletions: absent(number), files: absent(number) })
)
const summaryFields = {
  resource: text,
  provider: text,
  title: text,
  status: SessionStatus,
  activity: absent(text),
  createdAt: text,
  modifiedAt: text,
  workingDirectories: absent(list(text)),
  changes: absent(ChangesSummary)
}
export const SessionSummary = of<State.SessionSummary>()(Schema.Struct(summaryFields))
const { changes, activity, workingDirectories, ...required } = summaryFields
const optionalFields = {
  resource: absent(required.resource),
  provider: absent(required.provider),
  title: absent(required.title),
  status: absent(required.status),
  createdAt: absent(required.createdAt),
  modifiedAt: absent(required.modifiedAt),
  changes,
  activity,
  workingDirectories
}
export const PartialSessionSummary = of<Partial<State.SessionSummary>>()(Schema.Struct(optionalFields))

const chatFields = {
  resource: text,
  title: text,
  status: SessionStatus,
  modifiedAt: text,
  interactivity: absent(Schema.Literals(["full", "read-only", "hidden"])),
  workingDirectories: absent(list(text))
}
export const ChatSummary = of<State.ChatSummary>()(Schema.Struct({ ...chatFields, activity: absent(text) }))
export const PartialChatSummary = of<Partial<State.ChatSummary>>()(
  Schema.Struct({
    ...chatFields,
    resource: absent(text),
    title: absent(text),
    status: absent(SessionStatus),
    modifiedAt: absent(text),
    activity: absent(text)
  })
)
export const Changeset = of<State.Changeset>()(
  Schema.Struct({ label: text, uriTemplate: text, description: absent(text), changeKind: text })
)

const ofTurns = { id: text, message: Message, responseParts: list(ResponsePart) }
/** JSON has no member without a value: the usage of a turn without one is absent. */
export const Turn = Schema.Struct({
  ...ofTurns,
  startedAt: absent(text),
  duration: absent(number),
  usage: none(UsageInfo),
  state: Schema.Literals(["complete", "cancelled", "error"])
})
const ActiveTurn = Schema.Struct({ ...ofTurns, startedAt: text, usage: none(UsageInfo) })
const PendingMessage = Schema.Struct({ id: text, message: Message })
export const ChatState = Schema.Struct({
  ...chatFields,
  activity: absent(Schema.NullOr(text)),
  turns: list(Turn),
  turnsNextCursor: none(text),
  activeTurn: none(ActiveTurn),
  steeringMessage: none(PendingMessage),
  queuedMessages: none(list(PendingMessage)),
  draft: none(Message)
})

export const InputNeeded = of<State.InputNeeded>()(
  Schema.Struct({
    id: text,
    kind: Schema.Literals(["toolConfirmation", "chatInput", "toolClientExecution"]),
    chat: text,
    turnId: absent(text),
    toolCall: absent(ToolCall),
    request: absent(InputRequestState)
  })
)
const ActiveClient = of<State.ActiveClient>()(
  Schema.Struct({ clientId: text, displayName: absent(text), tools: list(unknown) })
)
export const SessionState = of<State.SessionState>()(
  Schema.Struct({
    resource: absent(text),
    provider: text,
    title: text,
    status: SessionStatus,
    activity: absent(Schema.NullOr(text)),
    createdAt: absent(text),
    modifiedAt: absent(text),
    lifecycle: Schema.Literals(["creating", "ready", "failed"]),
    creationError: absent(ErrorInfo),
    serverTools: absent(list(unknown)),
    activeClients: list(ActiveClient),
    chats: list(ChatSummary),
    defaultChat: absent(text),
    config: absent(ConfigState),
    workingDirectories: absent(list(text)),
    changesets: absent(list(Changeset)),
    inputNeeded: absent(list(InputNeeded)),
    changes: absent(ChangesSummary),
    _meta: absent(meta)
  })
)

const version = Schema.Struct({ uri: text, content: Schema.Struct({ uri: text }) })
export const ChangesetFile = of<State.ChangesetFile>()(
  Schema.Struct({
    id: text,
    edit: Schema.Struct({
      before: absent(version),
      after: absent(version),
      diff: absent(Schema.Struct({ added: absent(number), removed: absent(number) }))
    }),
    reviewed: absent(flag),
    _meta: absent(meta)
  })
)
export const ChangesetOperation = of<State.ChangesetOperation>()(
  Schema.Struct({
    id: text,
    label: text,
    description: absent(text),
    scopes: list(Schema.Literals(["changeset", "resource", "range"])),
    confirmation: absent(StringOrMarkdown),
    icon: absent(text),
    group: absent(text),
    status: Schema.Literals(["idle", "running", "error", "disabled"]),
    error: absent(ErrorInfo)
  })
)
export const ChangesetState = of<State.ChangesetState>()(
  Schema.Struct({
    status: Schema.Literals(["computing", "ready", "error"]),
    error: none(ErrorInfo),
    files: list(ChangesetFile),
    operations: absent(list(ChangesetOperation))
  })
)
