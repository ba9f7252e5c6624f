/**
 * Plain checks on parsed JSON: cheaper than a schema where a runtime prints thousands of lines a second, and as strict as needed there.
 */
import { isTooDeep, MAX_DEPTH } from "@corral/domain/text/Depth"

export type JsonObject = { readonly [key: string]: unknown }

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** An object, or an empty one. */
export const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** An array, or an empty one. */
export const arrayOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** The texts under that name, of those in a list that have one. */
export const textsIn = (list: ReadonlyArray<unknown>, name: string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  for (const one of list) {
    const text = textOf(objectOf(one)[name])
    if (text !== undefined) texts.push(text)
  }
  return texts
}

/** A non-negative whole number. */
export const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/**
 * A record without its undefined fields, as `exactOptionalPropertyTypes` wants it: itself where it has none, so hand over one of your own.
 */
export const defined = <T extends object>(record: T): { [K in keyof T]: Exclude<T[K], undefined> } => {
  const fields = record as Readonly<Record<string, unknown>>
  let lacks = false
  for (const key in fields) if (fields[key] === undefined) lacks = true
  if (!lacks) return record as { [K in keyof T]: Exclude<T[K], undefined> } // every field is defined
  const kept: Record<string, unknown> = {}
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key]
  return kept as { [K in keyof T]: Exclude<T[K], undefined> } // every field that is left is defined
}

/** Whether a text has brackets enough to nest too deep; few have, and to count them costs a tenth of walking what they hold. */
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

/** What a parser refuses costs it an error with its stack, some seventy times the price of looking at both ends. */
const hasBraces = (text: string): boolean =>
  (text.charCodeAt(0) === OPENING_BRACE && text.charCodeAt(text.length - 1) === CLOSING_BRACE) ||
  (/^[ \t\r\n]*\{/.test(text) && text.trimEnd().endsWith("}"))

/** The object that a text spells, or `undefined` for anything else. Never throws. */
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
