/**
 * Comparison of the input that an approval requested with the input that was allowed: which fields a person changed, added or removed.
 */
import { Equal } from "effect"

/** One changed field. `undefined` on a side where the field is absent. */
export interface InputChange {
  /** Empty where the inputs are not both objects: then the whole input changed. */
  readonly name: string
  readonly requested: unknown
  readonly allowed: unknown
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (input: unknown): input is Fields =>
  typeof input === "object" && input !== null && !Array.isArray(input)

const own = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** The changed fields, in the order of the requested input; added fields last. Empty where both inputs are equal. */
export const inputChanges = (requested: unknown, allowed: unknown): ReadonlyArray<InputChange> => {
  if (!isFields(requested) || !isFields(allowed))
    return Equal.equals(requested, allowed) ? [] : [{ name: "", requested, allowed }]
  return [...new Set([...Object.keys(requested), ...Object.keys(allowed)])].flatMap((name) => {
    const change = { name, requested: own(requested, name), allowed: own(allowed, name) }
    return Equal.equals(change.requested, change.allowed) ? [] : [change]
  })
}

/** An input, or a field of an input, as text: strings as they are, anything else as JSON. */
export const inputText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")
