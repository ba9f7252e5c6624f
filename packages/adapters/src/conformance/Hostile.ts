/**
 * Ways to spoil a recording: what versions change, what pipes lose, what a broken or hostile program prints.
 */
import { Buffer } from "node:buffer"
import { isJsonObject, parseObject } from "../text/Json.ts"
import { randomNumbers } from "./Replay.ts"

/** Lines that mean nothing, or try to mean too much. None of them ends a run. */
export const noise: ReadonlyArray<Uint8Array> = [
  Buffer.from(""),
  Buffer.from("   "),
  Buffer.from("warning: something on stdout"),
  Buffer.from("\u001b[31mred\u001b[0m\r"),
  Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe2, 0x82, 0xf0, 0x9f, 0x00]),
  Buffer.from("\0\0{\0"),
  Buffer.from("\uFEFF{}"),
  Buffer.from("{"),
  Buffer.from("null"),
  Buffer.from("[]"),
  Buffer.from('"a string"'),
  Buffer.from("12e999"),
  Buffer.from("{}"),
  Buffer.from('{"type":null}'),
  Buffer.from('{"type":"never_heard_of","text":"\\ud800 alone"}'),
  Buffer.from('{"__proto__":{"type":"result"},"constructor":{"prototype":{"type":"done"}}}'),
  Buffer.from(`${'{"a":['.repeat(3_000)}1${"]}".repeat(3_000)}`),
  Buffer.from("[".repeat(100_000))
]

const NEWLINE = 10

export const splitLines = (bytes: Uint8Array): Array<Uint8Array> => {
  const lines: Array<Uint8Array> = []
  let from = 0
  for (let newline = bytes.indexOf(NEWLINE); newline !== -1; newline = bytes.indexOf(NEWLINE, from)) {
    lines.push(bytes.subarray(from, newline))
    from = newline + 1
  }
  if (from < bytes.length) lines.push(bytes.subarray(from))
  return lines
}

export const joinLines = (lines: ReadonlyArray<Uint8Array>): Uint8Array =>
  Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]))

/** Noise after every line. */
export const withNoise = (bytes: Uint8Array): Uint8Array =>
  joinLines(splitLines(bytes).flatMap((line, at) => [line, noise[at % noise.length] ?? line]))

/** One line of that many bytes, of valid JSON, before the last. */
export const withHugeLine = (bytes: Uint8Array, size: number): Uint8Array => {
  const lines = splitLines(bytes)
  const huge = Buffer.alloc(size, "x")
  huge.write('{"type":"huge","x":"')
  huge.write('"}', size - 2)
  lines.splice(Math.max(0, lines.length - 1), 0, huge)
  return joinLines(lines)
}

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, reversed(inner)])
  )
}

/** The same objects with every key where no reader of prefixes expects it, and one unknown key. What no reader takes stays as it is. */
export const withReorderedKeys = (bytes: Uint8Array): Uint8Array => {
  const reordered = joinLines(
    splitLines(bytes).map((line) => {
      const value = parseObject(Buffer.from(line).toString("utf8"))
      if (value === undefined) return line
      return Buffer.from(
        JSON.stringify({ later_versions_add_this: { deep: [1] }, ...Object(reversed(value)) })
      )
    })
  )
  // A last line that was cut stays cut.
  return bytes.at(-1) === NEWLINE ? reordered : reordered.subarray(0, -1)
}

/** Every line twice: terminals, calls, results and requests too. */
export const withEveryLineTwice = (bytes: Uint8Array): Uint8Array =>
  joinLines(splitLines(bytes).flatMap((line) => [line, line]))

/** Without its last line, which is where a runtime says how it ended. */
export const withoutLastLine = (bytes: Uint8Array): Uint8Array => joinLines(splitLines(bytes).slice(0, -1))

/** A few bytes changed, left out, repeated or put elsewhere, by seed. */
export const mutated = (bytes: Uint8Array, seed: number): Uint8Array => {
  const random = randomNumbers(seed)
  let result = Buffer.from(bytes)
  for (let change = 0; change < 1 + random(8); change++) {
    const at = random(result.length + 1)
    const size = random(random(2) === 0 ? 4 : 400)
    const part = result.subarray(at, at + size)
    switch (random(5)) {
      case 0:
        part.fill(random(256))
        break
      case 1:
        result = Buffer.concat([result.subarray(0, at), result.subarray(at + size)])
        break
      case 2:
        result = Buffer.concat([result.subarray(0, at), part, result.subarray(at)])
        break
      case 3:
        result = Buffer.concat([result.subarray(at), result.subarray(0, at)])
        break
      case 4:
        result = Buffer.concat([
          result.subarray(0, at),
          noise[random(noise.length)] ?? part,
          result.subarray(at)
        ])
        break
    }
  }
  return result
}
