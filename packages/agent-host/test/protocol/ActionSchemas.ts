/** Schemas of the actions, notifications and results that the host writes. */
import { Result, Schema } from "effect"
import type { StateAction } from "../../src/protocol/Actions.ts"
import {
  answers,
  ConfirmationOption,
  ConfirmationReason,
  contributor,
  ErrorPart,
  InputRequestState,
  InputResponse,
  Message,
  ResponsePart,
  StringOrMarkdown,
  ToolCallResult,
  ToolResultContent,
  UsageInfo
} from "./PartSchemas.ts"
import {
  AgentInfo,
  Changeset,
  ChangesetFile,
  ChangesetOperation,
  ChangesetState,
  ChatState,
  ChatSummary,
  InputNeeded,
  PartialChatSummary,
  RootState,
  SessionState,
  SessionSummary,
  Turn
} from "./StateSchemas.ts"

const { Array: list, Boolean: flag, Finite: number, String: text, Unknown: unknown } = Schema
const absent = Schema.optionalKey
const meta = Schema.Record(text, unknown)

const action = <Type extends StateAction["type"], Fields extends Schema.Struct.Fields>(
  types: ReadonlyArray<Type>,
  fields: Fields
) => Schema.Struct({ type: Schema.Literals(types), ...fields })
const ofTurn = { turnId: text }
const ofCallAction = { ...ofTurn, toolCallId: text, _meta: absent(meta) }
const partOfTurn = { ...ofTurn, partId: text, content: text }
const ended = { ...ofTurn, duration: number }
const config = { config: meta, replace: absent(flag) }

/** Every action that the host sends by itself. */
export const written = {
  "root/agentsChanged": action(["root/agentsChanged"], { agents: list(AgentInfo) }),
  "root/configChanged": action(["root/configChanged"], config),
  "session/titleChanged": action(["session/titleChanged"], { title: text }),
  "session/chatAdded": action(["session/chatAdded"], { summary: ChatSummary }),
  "session/chatUpdated": action(["session/chatUpdated"], { chat: text, changes: PartialChatSummary }),
  "session/chatRemoved": action(["session/chatRemoved"], { chat: text }),
  "session/defaultChatChanged": action(["session/defaultChatChanged"], { defaultChat: absent(text) }),
  "session/isArchivedChanged": action(["session/isArchivedChanged"], { isArchived: flag }),
  "session/isReadChanged": action(["session/isReadChanged"], { isRead: flag }),
  "session/changesetsChanged": action(["session/changesetsChanged"], { changesets: absent(list(Changeset)) }),
  "session/configChanged": action(["session/configChanged"], config),
  "session/inputNeededSet": action(["session/inputNeededSet"], { request: InputNeeded }),
  "session/inputNeededRemoved": action(["session/inputNeededRemoved"], { id: text }),
  "chat/turnStarted": action(["chat/turnStarted"], {
    ...ofTurn,
    startedAt: text,
    message: Message,
    queuedMessageId: absent(text)
  }),
  "chat/delta": action(["chat/delta"], partOfTurn),
  "chat/reasoning": action(["chat/reasoning"], partOfTurn),
  "chat/responsePart": action(["chat/responsePart"], { ...ofTurn, part: ResponsePart }),
  "chat/turnComplete": action(["chat/turnComplete"], ended),
  "chat/turnCancelled": action(["chat/turnCancelled"], ended),
  "chat/error": action(["chat/error"], { ...ended, part: ErrorPart }),
  "chat/activityChanged": action(["chat/activityChanged"], { activity: Schema.NullOr(text) }),
  "chat/toolCallStart": action(["chat/toolCallStart"], {
    ...ofCallAction,
    toolName: text,
    displayName: text,
    intention: absent(text),
    contributor: absent(contributor)
  }),
  "chat/toolCallReady": action(["chat/toolCallReady"], {
    ...ofCallAction,
    invocationMessage: StringOrMarkdown,
    toolInput: absent(text),
    intention: absent(text),
    contributor: absent(contributor),
    confirmationTitle: absent(StringOrMarkdown),
    riskAssessment: absent(unknown),
    edits: absent(unknown),
    editable: absent(flag),
    options: absent(list(ConfirmationOption)),
    confirmed: absent(ConfirmationReason)
  }),
  "chat/toolCallConfirmed": Schema.Union([
    action(["chat/toolCallConfirmed"], {
      ...ofCallAction,
      approved: Schema.Literal(true),
      confirmed: ConfirmationReason,
      selectedOptionId: absent(text),
      editedToolInput: absent(text)
    }),
    action(["chat/toolCallConfirmed"], {
      ...ofCallAction,
      approved: Schema.Literal(false),
      reason: Schema.Literals(["denied", "skipped", "result-denied"]),
      selectedOptionId: absent(text),
      reasonMessage: absent(StringOrMarkdown),
      userSuggestion: absent(Message)
    })
  ]),
  "chat/toolCallComplete": action(["chat/toolCallComplete"], {
    ...ofCallAction,
    result: ToolCallResult,
    requiresResultConfirmation: absent(flag)
  }),
  "chat/toolCallContentChanged": action(["chat/toolCallContentChanged"], {
    ...ofCallAction,
    content: list(ToolResultContent)
  }),
  "chat/usage": action(["chat/usage"], { ...ofTurn, usage: UsageInfo }),
  "chat/pendingMessageSet": action(["chat/pendingMessageSet"], {
    kind: Schema.Literals(["steering", "queued"]),
    id: text,
    message: Message
  }),
  "chat/pendingMessageRemoved": action(["chat/pendingMessageRemoved"], {
    kind: Schema.Literals(["steering", "queued"]),
    id: text
  }),
  "chat/inputRequested": action(["chat/inputRequested"], { request: InputRequestState }),
  "chat/inputCompleted": action(["chat/inputCompleted"], {
    requestId: text,
    response: InputResponse,
    answers: absent(answers)
  }),
  "chat/turnsLoaded": action(["chat/turnsLoaded"], {
    turns: list(Turn),
    turnsNextCursor: absent(text)
  }),
  "changeset/contentChanged": action(["changeset/contentChanged"], {
    files: list(ChangesetFile),
    operations: absent(list(ChangesetOperation))
  })
} satisfies { readonly [Type in StateAction["type"]]?: Schema.Codec<unknown, unknown> }

const envelope = {
  channel: text,
  serverSeq: Schema.Int,
  origin: absent(Schema.Struct({ clientId: text, clientSeq: Schema.Int })),
  rejectionReason: absent(text)
}
export const ActionEnvelope = Schema.Struct({
  ...envelope,
  action: Schema.Union(Object.values(written))
})
export const Snapshot = Schema.Struct({
  resource: text,
  state: Schema.Union([SessionState, ChatState, ChangesetState, RootState]),
  fromSeq: Schema.Int
})
export const Implementation = Schema.Struct({ name: text, version: absent(text) })
export const InitializeResult = Schema.Struct({
  protocolVersion: text,
  serverSeq: Schema.Int,
  serverInfo: absent(Implementation),
  snapshots: list(Snapshot)
})
export const ReconnectResult = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("replay"),
    actions: list(ActionEnvelope),
    missing: list(text)
  }),
  Schema.Struct({ type: Schema.Literal("snapshot"), snapshots: list(Snapshot) })
])
export const ListSessionsResult = Schema.Struct({ items: list(SessionSummary), nextCursor: absent(text) })
export const SessionAddedParams = Schema.Struct({ channel: text, summary: SessionSummary })

/** The schema of an action that the host sends by itself. */
export const schemaOf = (type: unknown): Schema.Codec<unknown, unknown> | undefined => {
  // The union of all their types is not narrowed by a name.
  const schemas: Readonly<Record<string, unknown>> = written
  return schemas[String(type)] as Schema.Codec<unknown, unknown> | undefined
}

/** Why an action is not one that the host may send. `undefined`: it has the fields of its schema and no others. */
export const problemOf = (sent: { readonly type: string }): string | undefined => {
  const schema = schemaOf(sent.type)
  if (schema === undefined) return `${sent.type} has no schema`
  const decoded = Schema.decodeUnknownResult(schema)(JSON.parse(JSON.stringify(sent)), {
    onExcessProperty: "error"
  })
  return Result.isSuccess(decoded) ? undefined : `${sent.type}: ${decoded.failure.message}`
}
