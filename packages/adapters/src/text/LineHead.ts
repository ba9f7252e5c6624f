/**
 * Fields of a JSON object of which only the beginning is known, such as the head of a line over the limit.
 *
 * Guarantees: one pass over the text. Every value is whole: an incomplete string, number or key is omitted with what would follow. Never throws.
 * Does not: recover what follows a value that is cut.
 */
import { parseObject, type JsonObject } from "./Json.ts"

const closers: Readonly<Record<string, string>> = { "{": "}", "[": "]" }

/** Index after the string that starts at `from`; `undefined` if it is cut. */
const afterString = (text: string, from: number): number | undefined => {
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
      const next = afterString(text, at)
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

/** The fields; empty if the text does not begin as an object. */
export const fieldsOfHead = (head: string): JsonObject =>
  head.startsWith("{") ? (parseObject(closed(head)) ?? {}) : {}
