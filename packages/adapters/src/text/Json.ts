/**
 * Readers of parsed JSON. They cost less than a schema when a runtime prints thousands of lines a second. None of them throws.
 */
import { isJsonObject, type JsonObject } from "@corral/domain/text/JsonObject"
import { isTooDeep, MAX_DEPTH } from "@corral/domain/text/Depth"

export { isJsonObject, type JsonObject }

/** The value if it is an object; otherwise an empty object. */
export const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** The value if it is an array; otherwise an empty array. */
export const arrayOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The strings in a field of each entry of a list. Entries without one are skipped. */
export const textsIn = (list: ReadonlyArray<unknown>, name: string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (const entry of list) {
    const text = textOf(objectOf(entry)[name])
    if (text !== undefined) texts.push(text)
  }
  return texts
}

/** The value if it is a non-negative integer. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/**
 * A record without its undefined fields, as `exactOptionalPropertyTypes` requires. Returns the record itself if it has none.
 */
export const defined = <T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } => {
  const fields = record as Readonly<Record<string, unknown>>
  let hasUndefined = false
  for (const key in fields) if (fields[key] === undefined) hasUndefined = true
  if (!hasUndefined) return record as { [K in keyof T]: Exclude<T[K], undefined> } // every field is defined
  const present: Record<string, unknown> = {}
  for (const key in fields) if (fields[key] !== undefined) present[key] = fields[key]
  return present as { [K in keyof T]: Exclude<T[K], undefined> } // every field that is left is defined
}

/** Whether a text has enough brackets to nest too deep. Counting them costs a tenth of walking the value. */
const mayBeTooDeep = (text: string): boolean => {
  if (text.length <= MAX_DEPTH * 2) return false
  let levels = 0
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1))
      if (++levels > MAX_DEPTH) return true
  return false
}

const OPENING_BRACE = 123
const CLOSING_BRACE = 125

/** Whether a text starts and ends with braces. A parser's error with its stack costs about seventy times as much. */
const hasBraces = (text: string): boolean =>
  (text.charCodeAt(0) === OPENING_BRACE && text.charCodeAt(text.length - 1) === CLOSING_BRACE) ||
  (/^[ \t\r\n]*\{/.test(text) && text.trimEnd().endsWith("}"))

/** The object in a JSON text; `undefined` for any other text, and for an object that is nested too deep. */
export const parseObject = (text: string): JsonObject | undefined => {
  if (!hasBraces(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  return mayBeTooDeep(text) && isTooDeep(value) ? undefined : value
}
