/**
 * Run events: the envelope, and one typed payload per event type (payload version 1).
 *
 * The envelope is closed. Payloads can gain fields. `decodeEvent` keeps unknown types, payload versions and fields. An `EventDraft` has type
 * and payload only; the log adds ids, times and `seq`.
 */
import { Option, Result, Schema } from "effect"
import { ApprovalRequest, ApprovalState, decisionRecord } from "../approval/Approval.ts"
import {
  AgentId,
  ApprovalId,
  ArtifactId,
  EventId,
  InputRequestId,
  PreviewId,
  RunId,
  SessionId,
  WorkspaceId
} from "../identity/Ids.ts"
import { answerRecord, InputState, RequestedInput } from "../input/InputRequest.ts"
import { KernelRefusal, RunConfinement } from "./Confinement.ts"
import { ProjectSettingsReport } from "./ProjectSettings.ts"
import { protectedChangesFields, repositoryChangedFields } from "./ProtectedChange.ts"
import { RunFailure, RunInput, RunMode, Usage } from "./Run.ts"
import { Step, WorkEnd, WorkKind } from "./Work.ts"
import { RunLayer } from "./Run.ts"
import { EarlierDecision } from "../changes/EarlierDecision.ts"
import { unknownChangesFields } from "../changes/UnknownChanges.ts"
import { LeftOut, WorktreeStart } from "./Worktree.ts"

const text = Schema.String
const optionalText = Schema.optionalKey(Schema.String)
const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** Workspace-relative, `/`-separated. */
const path = Schema.String

/** Attachment of a chat message: its name and key. Readers fetch the content from the platform. */
const ChatAttachment = Schema.Struct({
  kind: Schema.Literals(["image", "file", "audio"]),
  key: text,
  name: optionalText
}).annotate({ identifier: "ChatAttachment" })

/** Part of a tool result. The content of an image, a recording or a file is an artifact. */
const ResultContent = Schema.Struct({
  type: Schema.Literals(["text", "image", "audio", "resource"]),
  text: optionalText,
  artifactId: Schema.optionalKey(ArtifactId),
  mediaType: optionalText,
  name: optionalText
}).annotate({ identifier: "ResultContent" })

/** Present if a text was truncated to fit one payload. `totalBytes` is the size of the whole text. */
const cut = {
  truncated: Schema.optionalKey(Schema.Literal(true)),
  totalBytes: Schema.optionalKey(count)
}

/** Payload fields of each event type. */
export const payloads = {
  "run.created": {
    workspace: WorkspaceId,
    mode: RunMode,
    input: RunInput,
    resume: Schema.optionalKey(RunId),
    worktree: Schema.optionalKey(WorktreeStart),
    layer: Schema.optionalKey(RunLayer),
    /** Limits of the operating system. Absent if the Edge does not confine runs. */
    confinement: Schema.optionalKey(RunConfinement),
    /** The run ends with its Edge although runs outlive it: the holder of runs could not be reached. */
    endsWithEdge: Schema.optionalKey(Schema.Literal(true)),
    /** Decisions about changes since the run that is resumed, oldest first. Absent if there are none. */
    decided: Schema.optionalKey(Schema.Array(EarlierDecision))
  },
  "run.started": {
    runtimeSessionId: optionalText,
    runtimeVersion: optionalText,
    model: optionalText,
    mode: optionalText,
    /** Project files that could execute something, and whether they were ignored. Absent if there are none. */
    projectSettings: Schema.optionalKey(ProjectSettingsReport)
  },
  "run.completed": {
    text: optionalText,
    ...cut,
    usage: Schema.optionalKey(Usage),
    /** Titles of background work that a person stopped by finishing the run. */
    stopped: Schema.optionalKey(Schema.Array(text))
  },
  "run.failed": { error: RunFailure, usage: Schema.optionalKey(Usage) },
  "run.cancelled": { reason: optionalText, by: optionalText, usage: Schema.optionalKey(Usage) },
  /** All processes of the run are frozen. Output that they printed before may follow. */
  "run.paused": { reason: optionalText, by: optionalText },
  /** The processes continue. `by` is absent if the run was resumed because it ends; `reason` says why. */
  "run.resumed": { reason: optionalText, by: optionalText },
  "run.message.delta": {
    messageId: text,
    channel: Schema.Literals(["text", "reasoning"]),
    text,
    parentCallId: optionalText
  },
  "run.message.completed": {
    messageId: text,
    role: Schema.Literals(["assistant", "user", "system"]),
    channel: Schema.Literals(["text", "reasoning"]),
    text,
    ...cut,
    parentCallId: optionalText
  },
  "run.tool.call": {
    callId: text,
    tool: text,
    label: text,
    status: Schema.Literals(["started"]),
    input: Schema.optionalKey(Schema.Unknown),
    ...cut,
    parentCallId: optionalText
  },
  "run.tool.result": {
    callId: text,
    tool: text,
    status: Schema.Literals(["completed", "failed", "denied", "cancelled"]),
    output: optionalText,
    ...cut,
    artifactId: Schema.optionalKey(ArtifactId),
    /** Parts that `output` cannot show. Their artifacts come before this event. */
    content: Schema.optionalKey(Schema.Array(ResultContent)),
    exitCode: Schema.optionalKey(Schema.Int),
    /** Only in confined runs: a hint that the confinement may be the reason of the failure. */
    kernelRefusal: Schema.optionalKey(KernelRefusal),
    parentCallId: optionalText
  },
  "run.file.read": { path, callId: optionalText, parentCallId: optionalText },
  "run.file.changed": {
    path,
    change: Schema.Literals(["created", "modified", "deleted", "renamed"]),
    fromPath: Schema.optionalKey(path),
    callId: optionalText,
    parentCallId: optionalText
  },
  "run.diff.ready": {
    files: count,
    additions: count,
    deletions: count,
    patch: optionalText,
    ...cut,
    /** Files that could not be compared, such as files without read permission. */
    leftOut: Schema.optionalKey(LeftOut)
  },
  /** Nothing is known about the changes of the run. A run without changes has neither this event nor `run.diff.ready`. */
  "run.changes.unknown": unknownChangesFields,
  /** Changes of files that other programs run or obey, in a confined run, which no approval names. */
  "run.protected.changed": protectedChangesFields,
  /** The repository of the workspace changed in a confined run, and no approved command explains it. */
  "run.repository.changed": repositoryChangedFields,
  "run.patch.proposed": { path, patch: text, ...cut, callId: optionalText, parentCallId: optionalText },
  "run.artifact.ready": {
    artifactId: ArtifactId,
    name: text,
    mediaType: text,
    size: count,
    sha256: text,
    /** The call whose result has the artifact in `content`. */
    callId: optionalText
  },
  "run.preview.ready": { previewId: PreviewId, title: text, expiresAt: optionalText },
  "run.approval.requested": { approvalId: ApprovalId, request: ApprovalRequest, expiresAt: text },
  "run.approval.resolved": {
    approvalId: ApprovalId,
    state: ApprovalState.pipe((s) => Schema.Literals(s.literals.filter((l) => l !== "pending"))),
    ...decisionRecord,
    reason: optionalText,
    /** A user, `local` for the owner of the Edge's token, or the policy that decided. */
    by: optionalText,
    /** Only if `edited`: the requested input, and the input that was allowed instead. */
    requestedInput: Schema.optionalKey(Schema.Unknown),
    allowedInput: Schema.optionalKey(Schema.Unknown),
    ...cut
  },
  /** A question, a form or a plan waits for a person. */
  "run.input.requested": { inputId: InputRequestId, request: RequestedInput, expiresAt: optionalText },
  "run.input.resolved": {
    inputId: InputRequestId,
    state: InputState.pipe((s) => Schema.Literals(s.literals.filter((l) => l !== "pending"))),
    ...answerRecord,
    /** A user, or `local` for the owner of the Edge's token. Absent if no person answered. */
    by: optionalText
  },
  /** Work that continues in the background. The run does not complete before it ends. */
  "run.work.started": { workId: text, kind: WorkKind, title: text, parentCallId: optionalText },
  "run.work.ended": { workId: text, state: WorkEnd },
  /** A further turn. The first turn of a run starts with `run.started`. */
  "run.turn.started": { turn: count, by: Schema.Literals(["message", "program"]) },
  /** The runtime has ended a turn, and the run continues. The last turn of a run ends with its last event. */
  "run.turn.ended": {
    turn: count,
    text: optionalText,
    ...cut,
    usage: Schema.optionalKey(Usage),
    /** Number of works in the background. */
    outstanding: count
  },
  /** What the run has used so far, in total. Between two of these events the Edge lets some seconds pass. The last event of the run has the final figures. */
  "run.usage.updated": { usage: Usage },
  /** The agent's list of steps, whole. `parentCallId`: the list of that sub-agent. */
  "run.steps.updated": {
    steps: Schema.Array(Step).check(Schema.isMaxLength(200)),
    parentCallId: optionalText
  },
  /** A notice of the runtime for people. */
  "run.notice": {
    kind: Schema.Literals(["compacted", "model_changed", "rate_limited", "warning", "refused", "other"]),
    text,
    data: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
    parentCallId: optionalText
  },
  "runtime.unavailable": { reason: text, message: text },
  /** A failed model call is retried, or the runtime is silent (`reason: "silence"`, `silentMs`) while it should work. */
  "runtime.retrying": {
    reason: text,
    message: optionalText,
    attempt: Schema.optionalKey(count),
    maxAttempts: Schema.optionalKey(count),
    delayMs: Schema.optionalKey(count),
    silentMs: Schema.optionalKey(count)
  },
  "runtime.timeout": {
    kind: Schema.Literals(["run", "first_event", "silence", "cap", "background"]),
    afterMs: count
  },
  "schema.validation_failed": { message: text, bytes: count, at: optionalText },
  "integration.message.received": {
    platform: text,
    upstreamEventId: text,
    /** The platform's id of the bot. User ids are unique only per bot. */
    app: optionalText,
    tenant: text,
    chatId: text,
    chatType: Schema.Literals(["direct", "group"]),
    threadId: optionalText,
    /** The first message of the reply thread. The message continues the conversation of that message. */
    rootId: optionalText,
    messageId: text,
    senderId: text,
    text,
    attachments: Schema.optionalKey(Schema.Array(ChatAttachment))
  },
  "integration.card.action": {
    platform: text,
    upstreamEventId: text,
    app: optionalText,
    tenant: text,
    /** The chat with the card. A forwarded card is in another chat than the one it was sent to. */
    chatId: optionalText,
    messageId: optionalText,
    actionId: text,
    operatorId: text
  },
  "identity.binding.required": {
    platform: text,
    app: optionalText,
    tenant: text,
    senderId: text,
    chatId: text,
    /** Display names of the platform, shown to the user who links the account. */
    senderName: optionalText,
    tenantName: optionalText
  }
} as const satisfies Record<string, Schema.Struct.Fields>

export type EventType = keyof typeof payloads
export const eventTypes = Object.keys(payloads) as ReadonlyArray<EventType>

/** Payload of an event type, without the version. */
export type PayloadOf<T extends EventType> = Schema.Struct.Type<(typeof payloads)[T]>
export type EventDraft = {
  readonly [T in EventType]: { readonly type: T; readonly payload: PayloadOf<T> }
}[EventType]
export type DraftOf<T extends EventType> = Extract<EventDraft, { readonly type: T }>

/** An event draft. The compiler checks that payload and type fit. */
export const draft = <T extends EventType>(type: T, payload: PayloadOf<T>): DraftOf<T> =>
  ({ type, payload }) as unknown as DraftOf<T> // the parameters tie the payload to the type; TypeScript does not follow the indexed union

export const PAYLOAD_VERSION = 1
/** Largest payload of an event as JSON, in bytes. */
export const MAX_PAYLOAD_BYTES = 262_144

/** Envelope of every event. `seq` is dense from 1 for each run; `createdAt` is ISO 8601. */
export const Envelope = Schema.Struct({
  id: EventId,
  seq: Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
  type: Schema.String,
  runId: RunId,
  sessionId: Schema.optionalKey(SessionId),
  agentId: Schema.optionalKey(AgentId),
  createdAt: Schema.String,
  payload: Schema.Record(Schema.String, Schema.Unknown)
}).annotate({ identifier: "Envelope" })
export type Envelope = typeof Envelope.Type

/** Payload fields of a type for generic code, without the literal types. */
const fieldsOf = (type: EventType): Readonly<Record<string, Schema.Codec<unknown, unknown>>> => payloads[type]

/** Schema of one event type: `v: 1`, its fields, and fields of later versions. */
export const eventSchema = (type: EventType) =>
  Schema.Struct({
    ...Envelope.fields,
    type: Schema.Literal(type),
    payload: Schema.StructWithRest(Schema.Struct({ v: Schema.Literal(PAYLOAD_VERSION), ...fieldsOf(type) }), [
      Schema.Record(Schema.String, Schema.Unknown)
    ])
  })

type EnvelopeOf<T extends EventType> = Omit<Envelope, "type" | "payload"> & {
  readonly type: T
  readonly payload: PayloadOf<T> & { readonly v: 1 }
}
export type RunEvent = { readonly [T in EventType]: EnvelopeOf<T> }[EventType]
export type EventOf<T extends EventType> = { readonly [K in T]: EnvelopeOf<K> }[T]

/** An event of an unknown type or payload version. Kept unchanged; clients do not show it. */
export interface UnknownEvent {
  readonly _tag: "UnknownEvent"
  readonly envelope: Envelope
}
export interface KnownEvent {
  readonly _tag: "KnownEvent"
  readonly event: RunEvent
}

const decodeEnvelope = Schema.decodeUnknownResult(Envelope)
const decoders = new Map<string, (u: unknown) => Option.Option<unknown>>(
  eventTypes.map((type) => [type, Schema.decodeUnknownOption(eventSchema(type))])
)

/**
 * Decodes one envelope. Fails only if the envelope is invalid. A known type whose payload does not match its version-1 schema is an
 * `UnknownEvent`, so that a newer writer never breaks an older reader.
 */
export const decodeEvent = (input: unknown): Result.Result<KnownEvent | UnknownEvent, Schema.SchemaError> =>
  Result.map(decodeEnvelope(input), (envelope) => {
    const decoded = decoders.get(envelope.type)?.(input)
    return decoded !== undefined && Option.isSome(decoded)
      ? { _tag: "KnownEvent", event: decoded.value as RunEvent } // decoded by the schema of the type
      : { _tag: "UnknownEvent", envelope }
  })

/** `decodeEvent` for `EventSequence`: `undefined` if the input is not an envelope. */
export const decodeReceivedEvent = (input: unknown): KnownEvent | UnknownEvent | undefined =>
  Result.getOrUndefined(decodeEvent(input))

/** Envelope fields that all events of one run share. */
export interface EventStamp {
  readonly runId: RunId
  readonly sessionId?: SessionId | undefined
  readonly agentId?: AgentId | undefined
}
