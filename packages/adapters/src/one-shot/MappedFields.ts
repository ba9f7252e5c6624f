/** Access to the fields that a `JsonMap` names. Only printed fields are found, never inherited ones. */
import type { JsonObject } from "../text/Json.ts"
import type { FieldPath, JsonMap } from "./JsonMap.ts"

/** Reads one field of a line. */
export type ReadField = (line: JsonObject) => unknown

/** JSON has no functions, so a function is an inherited property. `hasOwn` costs more than all other steps together. */
const readOwn = (value: unknown, name: string): unknown => {
  if (typeof value !== "object" || value === null) return undefined
  const found = (value as JsonObject)[name] // an object or a list
  return typeof found === "function" || name === "__proto__" ? undefined : found
}

export const compileField = (path: FieldPath | undefined): ReadField => {
  if (path === undefined) return () => undefined
  const [first = "", second, ...deeper] = path.split(".")
  if (second === undefined) return (line) => readOwn(line, first)
  if (deeper.length === 0) return (line) => readOwn(readOwn(line, first), second)
  return (line) => deeper.reduce<unknown>(readOwn, readOwn(readOwn(line, first), second))
}

/** The name of a type; `undefined` unless the value is a string or a number. */
export const typeName = (value: unknown): string | undefined =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined

/** The type of a line, from one field or from several: `item.completed/agent_message`. */
export const compileTypeField = (paths: JsonMap["type"]): ReadField => {
  if (typeof paths === "string") return compileField(paths)
  const fields = paths.map(compileField)
  return (line) => {
    const parts = fields.flatMap((field) => typeName(field(line)) ?? [])
    return parts.length === 0 ? undefined : parts.join("/")
  }
}

export const isTruthy = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0 && value !== ""

/** A string unchanged; any other value as JSON. */
export const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value)
