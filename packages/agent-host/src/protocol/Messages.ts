/**
 * Messages of the protocol's version 0.9.0, which 1.0.0 shares, as JSON-RPC over a WebSocket: what a client may send, decoded with bounds; the
 * answers and notifications of the host; error codes; and the choice of a version.
 */
import { isTooDeep } from "@corral/domain/text/Depth"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { Result, Schema } from "effect"
import type { ActionEnvelope } from "./Actions.ts"

/** Versions of the host, the preferred one first. */
export const PROTOCOL_VERSIONS: ReadonlyArray<string> = ["1.0.0", "0.9.0"]

/** Largest message of a client, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  sessionNotFound: -32001,
  providerNotFound: -32002,
  sessionExists: -32003,
  unsupportedVersion: -32005,
  notFound: -32008,
  permissionDenied: -32009,
  conflict: -32011
} as const
export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes]

/** A request that the host refuses. */
export interface ProtocolError {
  readonly code: ErrorCode
  readonly message: string
  readonly data?: unknown
}

export const protocolError = (
  code: keyof typeof errorCodes,
  message: string,
  data?: unknown
): ProtocolError => ({
  code: errorCodes[code],
  message,
  ...(data === undefined ? {} : { data })
})

const partsOf = (version: string): readonly [number, number, number] | undefined => {
  const [, major, minor, patch] = /^(\d{1,5})\.(\d{1,5})\.(\d{1,5})$/.exec(version) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

/** Whether a version only adds to a baseline, as its numbers say. */
const isCompatible = (version: string, baseline: string): boolean => {
  const [offered, base] = [partsOf(version), partsOf(baseline)]
  if (offered === undefined || base === undefined || offered[0] !== base[0]) return false
  if (offered[0] === 0) return offered[1] === base[1] && (offered[1] > 0 || offered[2] === base[2])
  return offered[1] > base[1] || (offered[1] === base[1] && offered[2] >= base[2])
}

/** The highest version of the client that the host speaks. `undefined`: there is none. */
export const chooseVersion = (offered: ReadonlyArray<string>): string | undefined => {
  const order = (version: string) => {
    const [major = 0, minor = 0, patch = 0] = partsOf(version) ?? []
    return (major * 100_000 + minor) * 100_000 + patch
  }
  return offered
    .filter((version) => PROTOCOL_VERSIONS.some((baseline) => isCompatible(version, baseline)))
    .toSorted((one, other) => order(other) - order(one))[0]
}

const address = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_048))
const name = Schema.String.check(
  Schema.isPattern(/^[ -~]{1,128}$/u, { expected: "1 to 128 printable characters" })
)
const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const values = Schema.Record(Schema.String, Schema.Unknown)
const addresses = Schema.Array(address).check(Schema.isMaxLength(256))
const channel = { channel: address }
/** VS Code leaves the channel of some messages of the root out. */
const rootChannel = { channel: Schema.optionalKey(address) }
const directory = Schema.optionalKey(address)

/** Parameters of each request. */
export const requests = {
  initialize: Schema.Struct({
    ...rootChannel,
    protocolVersions: Schema.Array(Schema.String.check(Schema.isMaxLength(32))).check(Schema.isMaxLength(64)),
    clientId: name,
    initialSubscriptions: Schema.optionalKey(addresses)
  }),
  reconnect: Schema.Struct({
    ...rootChannel,
    clientId: name,
    lastSeenServerSeq: count,
    subscriptions: addresses
  }),
  ping: Schema.Struct(rootChannel),
  listSessions: Schema.Struct({
    ...rootChannel,
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 }))),
    cursor: Schema.optionalKey(address)
  }),
  resolveSessionConfig: Schema.Struct({
    ...rootChannel,
    provider: Schema.optionalKey(name),
    workingDirectory: directory,
    config: Schema.optionalKey(values)
  }),
  sessionConfigCompletions: Schema.Struct(rootChannel),
  completions: Schema.Struct(channel),
  createSession: Schema.Struct({
    ...channel,
    provider: Schema.optionalKey(name),
    workingDirectories: Schema.optionalKey(Schema.Array(address).check(Schema.isMaxLength(16))),
    workingDirectory: directory,
    config: Schema.optionalKey(values)
  }),
  disposeSession: Schema.Struct(channel),
  subscribe: Schema.Struct(channel),
  fetchTurns: Schema.Struct({ ...channel, cursor: Schema.optionalKey(address) }),
  resourceRead: Schema.Struct({
    ...rootChannel,
    uri: Schema.String.check(Schema.isMaxLength(8_192)),
    encoding: Schema.optionalKey(Schema.Literals(["utf-8", "base64"]))
  }),
  resourceList: Schema.Struct({ ...rootChannel, uri: Schema.String.check(Schema.isMaxLength(8_192)) }),
  resourceResolve: Schema.Struct({ ...rootChannel, uri: Schema.String.check(Schema.isMaxLength(8_192)) }),
  invokeChangesetOperation: Schema.Struct({
    ...channel,
    operationId: name,
    // A part of a file is no target: the operation would be carried out on the whole file.
    target: Schema.optionalKey(
      Schema.Struct({
        kind: Schema.Literal("resource"),
        resource: Schema.String.check(Schema.isMaxLength(8_192))
      })
    )
  })
} as const

export type RequestName = keyof typeof requests
export type ParamsOf<Name extends RequestName> = (typeof requests)[Name]["Type"]

export const isRequestName = (method: string): method is RequestName => Object.hasOwn(requests, method)

const decoders = new Map<string, (input: unknown) => Result.Result<unknown, Schema.SchemaError>>(
  Object.entries(requests).map(([method, schema]) => [
    method,
    Schema.decodeUnknownResult(schema as Schema.Codec<unknown, unknown>)
  ])
)

/** Parameters of a request. Absent ones are an empty object. */
export const decodeParams = <Name extends RequestName>(
  method: Name,
  params: unknown
): Result.Result<ParamsOf<Name>, ProtocolError> => {
  const decode = decoders.get(method)
  const decoded = decode === undefined ? undefined : decode(params ?? {})
  return decoded !== undefined && Result.isSuccess(decoded)
    ? Result.succeed(decoded.success as ParamsOf<Name>) // decoded by the schema of the method
    : Result.fail(protocolError("invalidParams", `The parameters of ${method} are not valid.`))
}

/** Parameters of `dispatchAction`. The host decodes the fields of the actions that it carries out. */
const Dispatch = Schema.Struct({
  channel: address,
  clientSeq: count,
  action: Schema.StructWithRest(Schema.Struct({ type: Schema.String.check(Schema.isMaxLength(64)) }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})
export type Dispatch = typeof Dispatch.Type
export const decodeDispatch = Schema.decodeUnknownResult(Dispatch)
export const decodeUnsubscribe = Schema.decodeUnknownResult(Schema.Struct(channel))

const text = Schema.String.check(Schema.isMaxLength(262_144))
const markdown = Schema.Union([text, Schema.Struct({ markdown: text })])
const sentMessage = Schema.Struct({
  text,
  model: Schema.optionalKey(Schema.Struct({ id: name })),
  attachments: Schema.optionalKey(Schema.Array(values).check(Schema.isMaxLength(64)))
})
export type SentMessage = typeof sentMessage.Type
const answerContent = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("text"), value: text }),
  Schema.Struct({ kind: Schema.Literal("number"), value: Schema.Finite }),
  Schema.Struct({ kind: Schema.Literal("boolean"), value: Schema.Boolean }),
  Schema.Struct({
    kind: Schema.Literal("selected"),
    value: text,
    freeformValues: Schema.optionalKey(Schema.Array(text).check(Schema.isMaxLength(64)))
  }),
  Schema.Struct({
    kind: Schema.Literal("selected-many"),
    value: Schema.Array(text).check(Schema.isMaxLength(65)),
    freeformValues: Schema.optionalKey(Schema.Array(text).check(Schema.isMaxLength(64)))
  })
])
const answerState = Schema.Union([
  Schema.Struct({ state: Schema.Literals(["draft", "submitted"]), value: answerContent }),
  Schema.Struct({ state: Schema.Literal("skipped") })
])

/** Fields of the actions of clients that the host carries out. */
export const sentActions = {
  "chat/turnStarted": Schema.Struct({
    turnId: name,
    startedAt: Schema.optionalKey(Schema.String),
    message: sentMessage,
    queuedMessageId: Schema.optionalKey(name)
  }),
  "chat/turnCancelled": Schema.Struct({ turnId: name }),
  "chat/toolCallConfirmed": Schema.Struct({
    turnId: Schema.String.check(Schema.isMaxLength(1_024)),
    toolCallId: Schema.String.check(Schema.isMaxLength(1_024)),
    approved: Schema.Boolean,
    confirmed: Schema.optionalKey(Schema.String),
    selectedOptionId: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1_024))),
    editedToolInput: Schema.optionalKey(text),
    reasonMessage: Schema.optionalKey(markdown)
  }),
  "chat/inputCompleted": Schema.Struct({
    requestId: name,
    response: Schema.Literals(["accept", "decline", "cancel"]),
    answers: Schema.optionalKey(Schema.Record(Schema.String, answerState))
  }),
  "chat/pendingMessageSet": Schema.Struct({
    kind: Schema.Literals(["steering", "queued"]),
    id: name,
    message: sentMessage
  }),
  "chat/pendingMessageRemoved": Schema.Struct({
    kind: Schema.Literals(["steering", "queued"]),
    id: name
  }),
  "session/isArchivedChanged": Schema.Struct({ isArchived: Schema.Boolean }),
  "session/configChanged": Schema.Struct({ config: values }),
  "session/activeClientSet": Schema.Struct({ activeClient: Schema.Struct({ clientId: name }) }),
  "session/activeClientRemoved": Schema.Struct({ clientId: name }),
  "root/configChanged": Schema.Struct({ config: values })
} as const
export type SentActionName = keyof typeof sentActions
export type SentFields<Name extends SentActionName> = (typeof sentActions)[Name]["Type"]

const actionDecoders = new Map<string, (input: unknown) => Result.Result<unknown, Schema.SchemaError>>(
  Object.entries(sentActions).map(([type, schema]) => [
    type,
    Schema.decodeUnknownResult(schema as Schema.Codec<unknown, unknown>)
  ])
)

/** Fields of an action; `undefined` if they are not valid. */
export const decodeAction = <Name extends SentActionName>(
  type: Name,
  action: unknown
): SentFields<Name> | undefined => {
  const decoded = actionDecoders.get(type)?.(action)
  return decoded !== undefined && Result.isSuccess(decoded)
    ? (decoded.success as SentFields<Name>) // decoded by the schema of the type
    : undefined
}

/** A message of a client: a request has an id, a notification none. An answer to the host, which asks nothing, is ignored. */
export interface Incoming {
  readonly id: number | string | undefined
  readonly method: string
  readonly params: unknown
}

/** `undefined`: an answer. A text: why the message is refused. */
export const parseMessage = (message: string): Incoming | string | undefined => {
  if (Buffer.byteLength(message) > MAX_MESSAGE_BYTES) return "The message is too large."
  let parsed: unknown
  try {
    parsed = JSON.parse(message)
  } catch {
    return "The message is not JSON."
  }
  if (!isJsonObject(parsed) || parsed["jsonrpc"] !== "2.0" || isTooDeep(parsed))
    return "The message is not a JSON-RPC object."
  const { id, method, params } = parsed
  if (method === undefined && id !== undefined) return undefined
  if (typeof method !== "string") return "The message has no method."
  const isId = id === undefined || typeof id === "number" || (typeof id === "string" && id.length <= 128)
  return isId ? { id, method, params } : "The id of the request is not valid."
}

export const resultMessage = (id: number | string, result: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result })

export const errorMessage = (id: number | string | null, error: ProtocolError): string =>
  JSON.stringify({ jsonrpc: "2.0", id, error })

export const notification = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params })

export const actionMessage = (envelope: ActionEnvelope): string => notification("action", envelope)
