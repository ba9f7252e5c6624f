/**
 * Which events this console understands: type, payload version 1, and the fields that it reads. All others are kept as they are.
 *
 * The Hub has checked what it could; this guards against what a later version writes.
 */
import type { Envelope, RunEvent } from "@corral/domain/run/RunEvent"

type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === "string"
const number: Check = (value) => typeof value === "number"
const object: Check = (value) => typeof value === "object" && value !== null
const oneOf =
  (...values: ReadonlyArray<string>): Check =>
  (value) =>
    typeof value === "string" && values.includes(value)
const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const channel = oneOf("text", "reasoning")
const maybeText = maybe(text)
const maybeNumber = maybe(number)
const usage = maybe(object)

const failure: Check = (value) => object(value) && text(field(value, "code")) && text(field(value, "message"))

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const texts: Check = (value) => Array.isArray(value) && value.every(text)
const request: Check = (value) =>
  object(value) &&
  ["action", "risk", "title"].every((name) => text(field(value, name))) &&
  ["tool", "command", "cwd", "patch", "url", "reason"].every((name) => maybeText(field(value, name))) &&
  maybe(texts)(field(value, "files")) &&
  texts(field(value, "scopes")) &&
  maybe((of) => Array.isArray(of) && of.every((segment) => text(field(segment, "text"))))(
    field(value, "segments")
  )

const shapes: Readonly<Record<RunEvent["type"], Readonly<Record<string, Check>>>> = {
  "run.created": { workspace: text, mode: text, input: (of) => text(field(of, "text")) },
  "run.started": {
    model: maybeText,
    runtimeVersion: maybeText,
    projectSettings: maybe((of) => oneOf("ignored", "enabled")(field(of, "use")) && texts(field(of, "files")))
  },
  "run.completed": { text: maybeText, usage },
  "run.failed": { error: failure, usage },
  "run.cancelled": { reason: maybeText, by: maybeText, usage },
  "run.message.delta": { messageId: text, channel, text },
  "run.message.completed": {
    messageId: text,
    role: oneOf("assistant", "user", "system"),
    channel,
    text,
    totalBytes: maybeNumber
  },
  "run.tool.call": { callId: text, tool: text, label: text },
  "run.tool.result": {
    callId: text,
    tool: text,
    status: oneOf("completed", "failed", "denied", "cancelled"),
    output: maybeText,
    artifactId: maybeText,
    exitCode: maybeNumber
  },
  "run.file.read": { path: text },
  "run.file.changed": {
    path: text,
    change: oneOf("created", "modified", "deleted", "renamed"),
    fromPath: maybeText
  },
  "run.diff.ready": { files: number, additions: number, deletions: number },
  "run.patch.proposed": { path: text, patch: text },
  "run.artifact.ready": { artifactId: text, name: text, mediaType: text, size: number },
  "run.preview.ready": { previewId: text, title: text, expiresAt: maybeText },
  "run.approval.requested": { approvalId: text, request, expiresAt: text },
  "run.approval.resolved": {
    approvalId: text,
    state: oneOf("approved", "denied", "expired", "cancelled"),
    scope: maybeText,
    reason: maybeText,
    by: maybeText
  },
  "runtime.unavailable": { reason: text, message: text },
  "runtime.retrying": {
    reason: text,
    message: maybeText,
    attempt: maybeNumber,
    maxAttempts: maybeNumber,
    delayMs: maybeNumber,
    silentMs: maybeNumber
  },
  "runtime.timeout": { kind: text, afterMs: number },
  "schema.validation_failed": { message: text },
  "integration.message.received": {},
  "integration.card.action": {},
  "identity.binding.required": {}
}

/** What stands in every envelope. */
export const isEnvelope = (value: unknown): value is Envelope =>
  text(field(value, "id")) &&
  Number.isSafeInteger(field(value, "seq")) &&
  text(field(value, "type")) &&
  text(field(value, "createdAt")) &&
  object(field(value, "payload"))

/** The event as its type says, `undefined` where this build does not know it so. */
export const knownEvent = (envelope: Envelope): RunEvent | undefined => {
  const { payload, type } = envelope
  if (payload["v"] !== 1 || !Object.hasOwn(shapes, type)) return undefined
  const shape = shapes[type as RunEvent["type"]]
  for (const name in shape) if (shape[name]?.(payload[name]) !== true) return undefined
  // Every field that is read of it has just been looked at.
  return envelope as unknown as RunEvent
}
