/**
 * One event's payload is at most 256 KiB of JSON. Streamed text is split into several deltas and nothing of it is lost; a long text that
 * cannot be split is cut at a character boundary, with `truncated` and the `totalBytes` of the whole.
 */
import { draft, MAX_PAYLOAD_BYTES, type EventDraft } from "@corral/domain/RunEvent"

/** Leaves room for the payload's other fields and for escapes: every UTF-16 unit may take six bytes of JSON. */
const PIECE = 32_768
const KEEP_BYTES = 196_608

const isHighSurrogate = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xd800 && unit <= 0xdbff
}

/** Cuts `text` so that its JSON takes at most `bytes`, never inside a surrogate pair. */
export const cutText = (text: string, bytes: number): string => {
  let low = 0
  let high = Math.min(text.length, bytes)
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (Buffer.byteLength(JSON.stringify(text.slice(0, middle))) <= bytes) low = middle
    else high = middle - 1
  }
  return text.slice(0, low > 0 && isHighSurrogate(text, low - 1) ? low - 1 : low)
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

const cut = (text: string) => {
  const totalBytes = Buffer.byteLength(text)
  return totalBytes <= KEEP_BYTES / 6
    ? { text, flag: {} }
    : { text: cutText(text, KEEP_BYTES), flag: { truncated: true as const, totalBytes } }
}

/** True where the payload may be over the limit: cheap, and never wrong about one that is. */
export const mayExceed = (line: string): boolean => line.length * 3 > MAX_PAYLOAD_BYTES

/** The same event as events that fit. Call it where `mayExceed` said so. */
export const fit = (event: EventDraft): ReadonlyArray<EventDraft> => {
  if (Buffer.byteLength(JSON.stringify(event.payload)) <= MAX_PAYLOAD_BYTES) return [event]
  switch (event.type) {
    case "run.message.delta":
      return pieces(event.payload.text).map((text) => draft(event.type, { ...event.payload, text }))
    case "run.message.completed": {
      const { text, flag } = cut(event.payload.text)
      return [draft(event.type, { ...event.payload, text, ...flag })]
    }
    case "run.completed": {
      const { text, flag } = cut(event.payload.text ?? "")
      return [draft(event.type, { ...event.payload, text, ...flag })]
    }
    case "run.tool.result": {
      const { text, flag } = cut(event.payload.output ?? "")
      return [draft(event.type, { ...event.payload, output: text, ...flag })]
    }
    case "run.tool.call": {
      const { text, flag } = cut(JSON.stringify(event.payload.input ?? null))
      return [
        draft(event.type, {
          ...event.payload,
          label: cutText(event.payload.label, 4_096),
          input: text,
          ...flag
        })
      ]
    }
    case "run.patch.proposed":
    case "run.diff.ready": {
      const { text, flag } = cut(event.payload.patch ?? "")
      return [{ ...event, payload: { ...event.payload, patch: text, ...flag } } as EventDraft] // same type, same fields
    }
    case "run.created":
      return [
        draft(event.type, {
          ...event.payload,
          input: { text: cutText(event.payload.input.text, KEEP_BYTES) }
        })
      ]
    case "run.approval.requested": {
      const { input: _, patch, command, ...request } = event.payload.request
      return [
        draft(event.type, {
          ...event.payload,
          request: {
            ...request,
            title: cutText(request.title, 1_024),
            ...(command === undefined ? {} : { command: cutText(command, KEEP_BYTES / 2) }),
            ...(patch === undefined ? {} : { patch: cutText(patch, KEEP_BYTES / 2) }),
            // What is not shown whole cannot be edited.
            editable: false
          }
        })
      ]
    }
    case "run.failed":
      return [
        draft(event.type, {
          error: { code: event.payload.error.code, message: cutText(event.payload.error.message, 4_096) }
        })
      ]
    default:
      return [
        draft("schema.validation_failed", {
          message: `an event of type ${event.type} was over the size limit`,
          bytes: Buffer.byteLength(JSON.stringify(event.payload))
        })
      ]
  }
}
