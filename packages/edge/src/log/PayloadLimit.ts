/**
 * Limit of an event's payload: at most 256 KiB of JSON.
 *
 * Streamed text is split into several deltas without loss. The long text of other events is cut at a character boundary, with `truncated`
 * and the `totalBytes` of the whole; of an output, whose errors stand at its end, the middle is left out. Other long fields are shortened. An event never changes its type: a terminal one stays terminal.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"
import {
  draft,
  MAX_PAYLOAD_BYTES,
  PAYLOAD_VERSION,
  type EventDraft,
  type EventType
} from "@corral/domain/run/RunEvent"
import { joinEnds } from "@corral/domain/text/Cut"

/** Every UTF-16 unit may take six bytes of JSON. */
const PIECE = 32_768
/** Budget of the long text. The rest is for the other fields. */
const TEXT_BYTES = 196_608
const REST_BYTES = 49_152

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "")

const isHighSurrogate = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xd800 && unit <= 0xdbff
}

/** Bytes of JSON of one unit that is not in a surrogate pair. */
const unitBytes = (unit: number): number => {
  if (unit >= 0x80) return unit < 0x800 ? 2 : unit >= 0xd800 && unit <= 0xdfff ? 6 : 3
  if (unit >= 0x20) return unit === 0x22 || unit === 0x5c ? 2 : 1
  return (unit >= 8 && unit <= 10) || unit === 12 || unit === 13 ? 2 : 6
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** Cuts `text` so that its JSON takes at most `bytes`, never inside a surrogate pair. */
export const cutText = (text: string, bytes: number): string => {
  if (text.length * 6 + 2 <= bytes) return text
  let at = 0
  for (let taken = 2; at < text.length;) {
    const isPair = isHighSurrogate(text, at) && isLowSurrogate(text.charCodeAt(at + 1))
    taken += isPair ? 4 : unitBytes(text.charCodeAt(at))
    if (taken > bytes) break
    at += isPair ? 2 : 1
  }
  return at === text.length ? text : text.slice(0, at)
}

/** As `cutText`, with the end of `text` instead of its start. */
const cutTextBefore = (text: string, bytes: number): string => {
  let at = text.length
  for (let taken = 2; at > 0;) {
    const isPair = isLowSurrogate(text.charCodeAt(at - 1)) && isHighSurrogate(text, at - 2)
    taken += isPair ? 4 : unitBytes(text.charCodeAt(at - 1))
    if (taken > bytes) break
    at -= isPair ? 2 : 1
  }
  return text.slice(at)
}

/** Both ends of an output, with the larger part for its end. */
const cutMiddle = (text: string, bytes: number): string => {
  const start = Math.floor(bytes / 4)
  // The line between the ends needs some room.
  const end = bytes - start - 64
  return joinEnds(cutText(text, start), cutTextBefore(text, end), Buffer.byteLength(text))
}

const pieces = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE, text.length)
    if (end < text.length && isHighSurrogate(text, end - 1)) end--
    parts.push(text.slice(at, end))
    at = end
  }
  return parts
}

type Fields = Readonly<Record<string, unknown>>

/** Cuts every text in a value to `bytes` of JSON, and every list to `items`. */
const shortened = (value: unknown, bytes: number, items: number): unknown => {
  if (typeof value === "string") return cutText(value, bytes)
  if (Array.isArray(value)) return value.slice(0, items).map((item) => shortened(item, bytes, items))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, items)
      .map(([key, item]) => [cutText(key, bytes), shortened(item, bytes, items)])
  )
}

/** Shortens fields until they fit, with the same limits for all of them. */
const fitting = (fields: Fields, budget: number): Fields => {
  for (let bytes = budget / 2, items = 1_024; bytes >= 64; bytes /= 4, items = Math.max(items / 4, 8)) {
    const short = shortened(fields, bytes, items) as Fields // an object stays an object
    if (jsonBytes(short) <= budget) return short
  }
  return shortened(fields, 32, 4) as Fields
}

/** The field of a type that carries the long text. */
const longText: { readonly [T in EventType]?: string } = {
  "run.message.delta": "text",
  "run.message.completed": "text",
  "run.completed": "text",
  "run.turn.ended": "text",
  "run.tool.call": "input",
  "run.tool.result": "output",
  "run.approval.resolved": "allowedInput",
  "run.patch.proposed": "patch",
  "run.diff.ready": "patch"
}

/** Sets `truncated` only if the text was cut. */
const cut = (type: EventType, value: unknown): { readonly text: unknown; readonly flags: Fields } => {
  if (jsonBytes(value) <= TEXT_BYTES) return { text: value, flags: {} }
  const whole = typeof value === "string" ? value : JSON.stringify(value)
  return {
    text: (type === "run.tool.result" ? cutMiddle : cutText)(whole, TEXT_BYTES),
    flags: { truncated: true, totalBytes: Buffer.byteLength(whole) }
  }
}

/** Whether the payload may exceed the limit. Cheap; may be true for a payload that fits. */
export const mayExceed = (line: string): boolean => line.length * 3 > MAX_PAYLOAD_BYTES

const fits = (event: EventDraft): boolean =>
  jsonBytes({ v: PAYLOAD_VERSION, ...event.payload }) <= MAX_PAYLOAD_BYTES

/** The approval's own fields decide what a person sees: what is not shown whole cannot be edited. */
const shortApproval = (
  event: Extract<EventDraft, { readonly type: "run.approval.requested" }>
): EventDraft => {
  const { input: _, patch, command, ...request } = event.payload.request
  const texts = {
    ...(command === undefined ? {} : { command: cutText(command, TEXT_BYTES / 2) }),
    ...(patch === undefined ? {} : { patch: cutText(patch, TEXT_BYTES / 2) })
  }
  // Shortening keeps names and kinds of fields; the fixed words among them are far shorter than any limit.
  const rest = fitting(request, REST_BYTES) as typeof request
  return draft(event.type, { ...event.payload, request: { ...rest, ...texts, editable: false } })
}

/** The requested input is in the event that asked: the allowed one needs the room. */
const shortResolution = (
  event: Extract<EventDraft, { readonly type: "run.approval.resolved" }>
): EventDraft => {
  const { requestedInput: _, ...payload } = event.payload
  return draft(event.type, payload)
}

/** The whole output of a tool if `fitPayload` will cut it. */
export const wholeOutput = (event: EventDraft): string | undefined => {
  if (event.type !== "run.tool.result") return undefined
  const { output = "" } = event.payload
  const isCut = output.length * 6 > TEXT_BYTES && !fits(event) && jsonBytes(output) > TEXT_BYTES
  return isCut ? output : undefined
}

/** The event as one or more events that fit. Call it if `mayExceed` is true. */
export const fitPayload = (event: EventDraft): ReadonlyArray<EventDraft> => {
  if (fits(event)) return [event]
  if (event.type === "run.approval.requested") return [shortApproval(event)]
  if (event.type === "run.approval.resolved" && event.payload.requestedInput !== undefined)
    return fitPayload(shortResolution(event))
  const long = longText[event.type]
  const { [long ?? ""]: text, ...others } = event.payload as Fields
  const rest = fitting(others, REST_BYTES)
  if (event.type === "run.message.delta") {
    return pieces(event.payload.text).map((text) => ({
      ...event,
      payload: { ...event.payload, ...rest, text }
    }))
  }
  if (long === undefined || text === undefined) return [{ ...event, payload: rest } as EventDraft] // the same fields, shorter
  const whole = cut(event.type, text)
  // A text that was cut before says how long it was.
  const { totalBytes } = rest
  const flags = totalBytes === undefined ? whole.flags : { ...whole.flags, totalBytes }
  const payload = { ...rest, [long]: whole.text, ...flags }
  return [{ ...event, payload } as EventDraft] // the same fields, shorter
}
