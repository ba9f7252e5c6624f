/**
 * JSON objects from bytes, one object per line. An invalid line is reported, never thrown.
 *
 * Blank lines are skipped. A last line without its newline is read if it is a complete object, and is `cut` otherwise.
 */
import { parseObject, type JsonObject } from "./Json.ts"
import { Lines, type Line } from "./Lines.ts"

export type JsonLine =
  | { readonly _tag: "Object"; readonly value: JsonObject }
  /** `bytes` is the line's length. `at` is `line` and its number, from 1. `cut`: the output ended inside the line. */
  | {
      readonly _tag: "Invalid"
      readonly message: string
      readonly bytes: number
      readonly at: string
      readonly cut: boolean
    }

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
        read.push(this.#invalid("A line of output is longer than the limit.", line.bytes, atEnd))
        continue
      }
      const value = parseObject(line.text)
      if (value !== undefined) read.push({ _tag: "Object", value })
      else if (line.text.trim() !== "") {
        const message = atEnd
          ? "The output ended in the middle of a line."
          : "A line of output is not a JSON object."
        read.push(this.#invalid(message, line.bytes, atEnd))
      }
    }
    return read
  }

  #invalid(message: string, bytes: number, cut: boolean): JsonLine {
    return { _tag: "Invalid", message, bytes, at: `line ${this.#number}`, cut }
  }
}
