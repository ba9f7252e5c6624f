/**
 * Corruptions of a recording: changes of later versions, losses in pipes, output of broken and hostile programs.
 */
import { Buffer } from "node:buffer"
import { isJsonObject, parseObject } from "@corral/adapters/text/Json"

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

/** Beginnings of characters of two to four bytes, and bytes that begin none. */
export const cutCharacters: ReadonlyArray<Uint8Array> = [
  [0xc3],
  [0xe2, 0x82],
  [0xf0, 0x9f, 0x92],
  [0x80],
  [0xff, 0xfe]
].map((bytes) => Uint8Array.from(bytes))

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
