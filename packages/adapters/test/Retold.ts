/** Recordings retold: the same run, in which the model or its service said something else. */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { joinLines, splitLines } from "@corral/conformance/Hostile"
import { replay, type Recording } from "@corral/conformance/Replay"
import { isJsonObject, parseObject } from "../src/text/Json.ts"

/** The texts of the messages of a run, and the pieces in which they streamed. */
export interface Answer {
  readonly wholes: ReadonlyArray<string>
  readonly pieces: ReadonlyArray<string>
}

export const answerOf = (adapter: RuntimeAdapter, recording: Recording): Answer => {
  const wholes: Array<string> = []
  const pieces: Array<string> = []
  for (const output of replay(adapter, recording, [recording.stdout])) {
    if (output._tag !== "Event") continue
    const { event } = output
    if (event.type === "run.message.completed" && event.payload.channel === "text")
      wholes.push(event.payload.text)
    else if (event.type === "run.message.delta" && event.payload.channel === "text")
      pieces.push(event.payload.text)
  }
  return { wholes, pieces }
}

/** Every line changed. */
export const replaced = (bytes: Uint8Array, change: (line: string) => string): Uint8Array =>
  joinLines(splitLines(bytes).map((line) => Buffer.from(change(Buffer.from(line).toString("utf8")))))

/** The same run with another answer, whole where it came whole, and in as many pieces as it came in. */
export const saying = (bytes: Uint8Array, { pieces, wholes }: Answer, text: string): Uint8Array => {
  const map = new Map<string, string>(wholes.map((whole) => [whole, text]))
  const size = Math.ceil(text.length / pieces.length)
  pieces.forEach((piece, at) => map.set(piece, text.slice(at * size, (at + 1) * size)))
  const change = (value: unknown): unknown => {
    if (typeof value === "string") return map.get(value) ?? value
    if (Array.isArray(value)) return value.map(change)
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, change(inner)]))
  }
  return replaced(bytes, (line) => {
    const value = parseObject(line)
    return value === undefined ? line : JSON.stringify(change(value))
  })
}
