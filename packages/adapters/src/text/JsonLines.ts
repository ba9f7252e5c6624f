/**
 * JSON objects from bytes, one object per line. An invalid line is reported, never thrown.
 *
 * Blank lines are skipped, and so are control sequences of terminals before and after an object: titles (OSC), styles and bracketed paste (CSI),
 * other control characters, and byte-order marks. Programs print them on stdout although no terminal is there. A last line without its newline is
 * read if it is a complete object, and is `cut` otherwise.
 *
 * Of a line over the limit, `head` has the fields that its first 64 KiB complete: an incomplete string, number or key is omitted with what would
 * follow. A protocol passes `onLost` to `OutputCollector.readLines` to answer or close what they name, so that the runtime and its readers do not
 * wait for a line that was lost:
 * - a request (`id` with `method`, or `request_id`): decline it, because no one saw it;
 * - the result of a call (`callId`, `tool_use_id`, `item.id`): close the call, with a text that says that the result was too long;
 * - the end of a turn: emit an outcome from what is known.
 * A field that follows the long value is not in `head`.
 *
 * Guarantees: linear in the length of a line.
 */
import { type JsonObject, parseObject } from "./Json.ts"
import { type Line, Lines } from "./Lines.ts"

const ESCAPE = 0x1b
const BELL = 0x07
const BYTE_ORDER_MARK = 0xfeff
/** `[`: parameters follow, then one character from `@` to `~`. */
const CSI = [0x5b, 0x9b]
/** `]`, `P`, `X`, `^`, `_`: a text follows, until a bell or a string terminator. */
const STRINGS = [0x5d, 0x50, 0x58, 0x5e, 0x5f, 0x9d, 0x90, 0x98, 0x9e, 0x9f]
const STRING_TERMINATOR = 0x9c
const BACKSLASH = 0x5c

const isBetween = (code: number, first: number, last: number): boolean => code >= first && code <= last

/** C0 and C1 controls, the space, DEL and the byte-order mark. */
const isControl = (code: number): boolean =>
  code <= 0x20 || isBetween(code, 0x7f, 0x9f) || code === BYTE_ORDER_MARK

/** Index after the characters in a range. */
const afterRange = (text: string, from: number, first: number, last: number): number => {
  let at = from
  while (at < text.length && isBetween(text.charCodeAt(at), first, last)) at++
  return at
}

/** Index after a string of a control sequence; `undefined` if it has no end. */
const afterString = (text: string, from: number): number | undefined => {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BELL || code === STRING_TERMINATOR) return at + 1
    if (code === ESCAPE && text.charCodeAt(at + 1) === BACKSLASH) return at + 2
  }
  return undefined
}

/** Index of the first character from `from` that is neither white space nor part of a control sequence. */
const afterControls = (text: string, from: number): number => {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (!isControl(code)) break
    const isEscape = code === ESCAPE
    const kind = isEscape ? text.charCodeAt(at + 1) : code
    const next = isEscape ? at + 2 : at + 1
    if (CSI.includes(kind)) at = afterRange(text, next, 0x20, 0x3f) + 1
    else if (STRINGS.includes(kind)) {
      const after = afterString(text, next)
      if (after === undefined) break
      at = after
    }
    // Other sequences: intermediate characters, then one more.
    else at = isEscape && isBetween(kind, 0x20, 0x2f) ? afterRange(text, next, 0x20, 0x2f) + 1 : next
  }
  return Math.min(at, text.length)
}

/** The text without control sequences before it, and without those after its last `end`. */
const withoutControls = (text: string, end: string): string => {
  const from = afterControls(text, 0)
  const last = text.lastIndexOf(end)
  const to = last >= from && afterControls(text, last + 1) === text.length ? last + 1 : text.length
  return text.slice(from, to)
}

const closers: Readonly<Record<string, string>> = { "{": "}", "[": "]" }

/** Index after the string that starts at `from`; `undefined` if it is cut. */
const afterJsonString = (text: string, from: number): number | undefined => {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === "\\") at++
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

const isScalar = (character: string): boolean => /[\w.+-]/.test(character)

/** The beginning up to the last whole value, with the brackets that close it. */
const closed = (text: string): string => {
  const open: Array<string> = []
  let whole = { to: 0, brackets: "" }
  const mark = (to: number): void => {
    whole = { to, brackets: open.toReversed().join("") }
  }
  /** Whether the last string was followed by nothing yet: it may be a key. */
  let isAfterColon = false
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? ""
    const closer = closers[character]
    const isValue = isAfterColon || open.at(-1) === "]"
    if (closer !== undefined) {
      open.push(closer)
      mark(++at)
      isAfterColon = false
    } else if (character === open.at(-1)) {
      open.pop()
      mark(++at)
    } else if (character === '"') {
      const next = afterJsonString(text, at)
      if (next === undefined) break
      at = next
      if (isValue) mark(at)
      isAfterColon = false
    } else if (isScalar(character)) {
      while (at < text.length && isScalar(text[at] ?? "")) at++
      // A number at the end of the text may have more digits.
      if (at < text.length && isValue) mark(at)
      isAfterColon = false
    } else {
      if (character === ":") isAfterColon = true
      at++
    }
  }
  return text.slice(0, whole.to) + whole.brackets
}

/**
 * The fields; empty if the text does not begin as an object.
 *
 * @internal
 */
export const fieldsOfHead = (head: string): JsonObject =>
  head.startsWith("{") ? (parseObject(closed(head)) ?? {}) : {}

export type JsonLine =
  | { readonly _tag: "Object"; readonly value: JsonObject }
  /**
   * `bytes` is the line's length. `at` is `line` and its number, from 1. `cut`: the output ended inside the line. `head`: only of a line over
   * the limit.
   */
  | {
      readonly _tag: "Invalid"
      readonly message: string
      readonly bytes: number
      readonly at: string
      readonly cut: boolean
      readonly head?: JsonObject
    }

export type InvalidLine = Extract<JsonLine, { readonly _tag: "Invalid" }>

/** The object of a line; `undefined` if it has none. Nearly all lines have no control sequences. */
const objectIn = (text: string): JsonObject | undefined =>
  parseObject(text) ?? (text === "" ? undefined : parseObject(withoutControls(text, "}")))

/** Decoder of one output. `maxLineBytes` is 8 MiB by default; a longer line is invalid. */
export class JsonLines {
  readonly #lines: Lines
  #number = 0

  constructor(maxLineBytes?: number) {
    this.#lines = new Lines(maxLineBytes)
  }

  /** Decodes one read. Returns the lines that it completes. */
  push(chunk: Uint8Array): ReadonlyArray<JsonLine> {
    return this.#read(this.#lines.push(chunk), false)
  }

  /** Decodes the rest after the last read. */
  end(): ReadonlyArray<JsonLine> {
    return this.#read(this.#lines.end(), true)
  }

  #read(lines: ReadonlyArray<Line>, atEnd: boolean): ReadonlyArray<JsonLine> {
    const read: Array<JsonLine> = []
    for (const line of lines) {
      this.#number++
      if (line._tag === "TooLong") {
        const head = fieldsOfHead(withoutControls(line.head, "}"))
        read.push({ ...this.#invalid("A line of output is longer than the limit.", line.bytes, atEnd), head })
        continue
      }
      const value = objectIn(line.text)
      if (value !== undefined) read.push({ _tag: "Object", value })
      else if (withoutControls(line.text, "}") !== "") {
        const message = atEnd
          ? "The output ended in the middle of a line."
          : "A line of output is not a JSON object."
        read.push(this.#invalid(message, line.bytes, atEnd))
      }
    }
    return read
  }

  #invalid(message: string, bytes: number, cut: boolean): InvalidLine {
    return { _tag: "Invalid", message, bytes, at: `line ${this.#number}`, cut }
  }
}

/** Result of a call whose output was lost. */
export const LOST_RESULT = "The result was too long to be read."

/** Reason why a request was declined: it was lost. */
export const LOST_REQUEST = "The request is too long to be read, so no person saw it. Make it shorter."
