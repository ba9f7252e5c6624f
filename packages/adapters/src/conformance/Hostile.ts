/**
 * Corruptions of a recording: changes of later versions, losses in pipes, output of broken and hostile programs.
 */
import { Buffer } from "node:buffer"
import { isJsonObject, parseObject } from "../text/Json.ts"
import { randomNumbers } from "./Replay.ts"

/** Meaningless and hostile lines. None of them ends a run. */
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

/** Last huge line with its line end, kept because filling megabytes for each recording takes longer than decoding them. */
let hugeLine: Buffer = Buffer.alloc(0)

const hugeLineOf = (size: number): Buffer => {
  if (hugeLine.length !== size + 1) {
    hugeLine = Buffer.alloc(size + 1, "x")
    hugeLine.write('{"type":"huge","x":"')
    hugeLine.write('"}\n', size - 2)
  }
  return hugeLine
}

/** One line of valid JSON with `size` bytes before the last line, in reads: joining them would copy the megabytes for each recording. */
export const withHugeLine = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> => {
  const lines = splitLines(bytes)
  const before = Math.max(0, lines.length - 1)
  return [joinLines(lines.slice(0, before)), hugeLineOf(size), joinLines(lines.slice(before))]
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

/** The same objects with their keys in reverse order and one unknown key. Other lines stay unchanged. */
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
  // A last line without a line end stays without one.
  return bytes.at(-1) === NEWLINE ? reordered : reordered.subarray(0, -1)
}

/** Every line twice, also outcomes, calls, results and requests. */
export const withEveryLineTwice = (bytes: Uint8Array): Uint8Array =>
  joinLines(splitLines(bytes).flatMap((line) => [line, line]))

/** The recording without its last line, where a runtime reports its outcome. */
export const withoutLastLine = (bytes: Uint8Array): Uint8Array => joinLines(splitLines(bytes).slice(0, -1))

/** The recording with a few bytes changed, removed, repeated or moved, by seed. */
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
