/**
 * Decoder of events for browsers: a table of the event types, with the payload fields that `RunView` reads.
 *
 * Guarantees: an event with a field of another type is an unknown event, as are unknown types and payload versions. A newer service cannot
 * break its reader. Checks only these fields, because Effect's schemas would double the size of a page. Programs with Effect decode with the
 * whole schemas.
 */
import { fieldOf } from "@corral/domain/text/JsonObject"
import type { DecodedEvent } from "@corral/domain/run/EventSequence"
import type { Envelope, EventType, RunEvent } from "@corral/domain/run/RunEvent"

type Check = (value: unknown) => boolean

const text: Check = (value) => typeof value === "string"
const number: Check = (value) => typeof value === "number"
const object: Check = (value) => typeof value === "object" && value !== null
const oneOf =
  (...values: ReadonlyArray<string>): Check =>
  (value) =>
    typeof value === "string" && values.includes(value)
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const channel = oneOf("text", "reasoning")
const optionalText = optional(text)
const optionalNumber = optional(number)
const usage = optional(object)

const failure: Check = (value) =>
  object(value) && text(fieldOf(value, "code")) && text(fieldOf(value, "message"))

const texts: Check = (value) => Array.isArray(value) && value.every(text)
const request: Check = (value) =>
  object(value) &&
  ["action", "risk", "title"].every((name) => text(fieldOf(value, name))) &&
  ["tool", "command", "cwd", "patch", "url", "reason"].every((name) => optionalText(fieldOf(value, name))) &&
  optional(texts)(fieldOf(value, "files")) &&
  texts(fieldOf(value, "scopes")) &&
  optional((of) => Array.isArray(of) && of.every((segment) => text(fieldOf(segment, "text"))))(
    fieldOf(value, "segments")
  )

const isFileChange = (file: unknown): boolean =>
  text(fieldOf(file, "path")) && oneOf("created", "modified", "deleted")(fieldOf(file, "change"))

const eventFields = {
  "run.created": {
    workspace: text,
    mode: text,
    input: (of) => text(fieldOf(of, "text")),
    confinement: optional((of) => text(fieldOf(of, "kind")) && optionalText(fieldOf(of, "reason"))),
    endsWithEdge: optional((value) => value === true)
  },
  "run.started": {
    model: optionalText,
    runtimeVersion: optionalText,
    projectSettings: optional(
      (of) => oneOf("ignored", "enabled")(fieldOf(of, "use")) && texts(fieldOf(of, "files"))
    )
  },
  "run.completed": { text: optionalText, usage },
  "run.failed": { error: failure, usage },
  "run.cancelled": { reason: optionalText, by: optionalText, usage },
  "run.paused": { reason: optionalText, by: optionalText },
  "run.resumed": { reason: optionalText, by: optionalText },
  "run.message.delta": { messageId: text, channel, text },
  "run.message.completed": {
    messageId: text,
    role: oneOf("assistant", "user", "system"),
    channel,
    text,
    totalBytes: optionalNumber
  },
  "run.tool.call": { callId: text, tool: text, label: text },
  "run.tool.result": {
    callId: text,
    tool: text,
    status: oneOf("completed", "failed", "denied", "cancelled"),
    output: optionalText,
    artifactId: optionalText,
    exitCode: optionalNumber,
    kernelRefusal: optional(oneOf("write", "access"))
  },
  "run.file.read": { path: text, callId: optionalText },
  "run.file.changed": {
    path: text,
    change: oneOf("created", "modified", "deleted", "renamed"),
    fromPath: optionalText,
    callId: optionalText
  },
  "run.diff.ready": { files: number, additions: number, deletions: number },
  "run.changes.unknown": { reason: text, detail: optionalText },
  "run.protected.changed": {
    count: number,
    files: (of) => Array.isArray(of) && of.every(isFileChange)
  },
  "run.repository.changed": {
    count: number,
    refs: (of) => Array.isArray(of) && of.every((ref) => text(fieldOf(ref, "name"))),
    files: optional((of) => Array.isArray(of) && of.every(isFileChange))
  },
  "run.patch.proposed": { path: text, patch: text, callId: optionalText },
  "run.artifact.ready": { artifactId: text, name: text, mediaType: text, size: number },
  "run.preview.ready": { previewId: text, title: text, expiresAt: optionalText },
  "run.approval.requested": { approvalId: text, request, expiresAt: text },
  "run.approval.resolved": {
    approvalId: text,
    state: oneOf("approved", "denied", "expired", "cancelled"),
    scope: optionalText,
    reason: optionalText,
    by: optionalText
  },
  "run.input.requested": { inputId: text, request: object, expiresAt: optionalText },
  "run.input.resolved": { inputId: text, state: text, by: optionalText },
  "run.work.started": { workId: text, kind: text, title: text, parentCallId: optionalText },
  "run.work.ended": { workId: text, state: text },
  "run.turn.started": { turn: number, by: text },
  "run.turn.ended": { turn: number, text: optionalText, outstanding: number },
  "run.usage.updated": { usage: object },
  "run.steps.updated": { steps: Array.isArray, parentCallId: optionalText },
  "run.notice": { kind: text, text, parentCallId: optionalText },
  "runtime.unavailable": { reason: text, message: text },
  "runtime.retrying": {
    reason: text,
    message: optionalText,
    attempt: optionalNumber,
    maxAttempts: optionalNumber,
    delayMs: optionalNumber,
    silentMs: optionalNumber
  },
  "runtime.timeout": { kind: text, afterMs: number },
  "schema.validation_failed": { message: text },
  "integration.message.received": {},
  "integration.card.action": {},
  "identity.binding.required": {}
} as const satisfies Record<EventType, Readonly<Record<string, Check>>>

const isEnvelope = (value: unknown): value is Envelope =>
  text(fieldOf(value, "id")) &&
  Number.isSafeInteger(fieldOf(value, "seq")) &&
  text(fieldOf(value, "type")) &&
  text(fieldOf(value, "createdAt")) &&
  object(fieldOf(value, "payload"))

const isKnown = ({ payload, type }: Envelope): boolean => {
  if (payload["v"] !== 1 || !Object.hasOwn(eventFields, type)) return false
  const fields: Readonly<Record<string, Check>> = eventFields[type as EventType]
  for (const name in fields) if (fields[name]?.(payload[name]) !== true) return false
  return true
}

/** Decodes one parsed event. `undefined` if the input is not an envelope. */
export const decodeEventFields = (input: unknown): DecodedEvent | undefined => {
  if (!isEnvelope(input)) return undefined
  return isKnown(input)
    ? // All fields that the view of a run reads have been checked.
      { _tag: "KnownEvent", event: input as unknown as RunEvent }
    : { _tag: "UnknownEvent", envelope: input }
}
