/**
 * Comparison of the requested input of an approval with the allowed input: the fields that a user changed, added or removed.
 */
import { isJsonObject } from "../text/JsonObject.ts"
import { Equal } from "effect"

/** One changed field. `undefined` on a side where the field is absent. */
export interface InputChange {
  /** Name of the field. Empty if the whole input changed, because an input is not an object. */
  readonly name: string
  readonly requested: unknown
  readonly allowed: unknown
}

type Fields = Readonly<Record<string, unknown>>

const ownField = (fields: Fields, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined

/** Changed fields in the order of the requested input, added fields last. Empty if both inputs are equal. */
export const inputChanges = (requested: unknown, allowed: unknown): ReadonlyArray<InputChange> => {
  if (!isJsonObject(requested) || !isJsonObject(allowed))
    return Equal.equals(requested, allowed) ? [] : [{ name: "", requested, allowed }]
  return [...new Set([...Object.keys(requested), ...Object.keys(allowed)])].flatMap((name) => {
    const change = { name, requested: ownField(requested, name), allowed: ownField(allowed, name) }
    return Equal.equals(change.requested, change.allowed) ? [] : [change]
  })
}

/** Text of an input or of one of its fields: strings unchanged, other values as JSON. */
export const inputText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")
