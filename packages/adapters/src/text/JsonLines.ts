/**
 * JSON objects from bytes, one object per line. An invalid line is reported, never thrown.
 *
 * Blank lines are skipped, and so are control sequences of terminals before and after an object. A last line without its newline is read if it is
 * a complete object, and is `cut` otherwise.
 *
 * Of a line over the limit, `head` has the fields that its first 64 KiB complete. A protocol passes `onLost` to `OutputCollector.readLines` to
 * answer or close what they name, so that the runtime and its readers do not wait for a line that was lost:
 * - a request (`id` with `method`, or `request_id`): decline it, because no one saw it;
 * - the result of a call (`callId`, `tool_use_id`, `item.id`): close the call, with a text that says that the result was too long;
 * - the end of a turn: emit an outcome from what is known.
 * A field that follows the long value is not in `head`.
 */
import { withoutControls } from "./ControlSequences.ts"
import { parseObject, type JsonObject } from "./Json.ts"
import { fieldsOfHead } from "./LineHead.ts"
import { Lines, type Line } from "./Lines.ts"

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
