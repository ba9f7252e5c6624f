/**
 * Fields of a JSON schema as a Markdown table: name, whether it must be there, type.
 *
 * Knows what the domain's schemas use and fails on anything else, so that a page never says less than the code.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"

const ref = (pointer: string): string => pointer.slice(pointer.lastIndexOf("/") + 1)

const textOf = (value: unknown): string => `\`${JSON.stringify(value)}\``

/** The limits that a reader has to know. */
const limits = ({
  minimum,
  maximum,
  minLength,
  maxLength,
  pattern
}: Readonly<Record<string, unknown>>): string => {
  const id = typeof pattern === "string" ? /^\^([a-z]{3})_/.exec(pattern)?.[1] : undefined
  const range = [
    minimum === undefined || minimum === Number.MIN_SAFE_INTEGER ? "" : `≥ ${String(minimum)}`,
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? "" : `≤ ${String(maximum)}`,
    maxLength === undefined ? "" : `of ${String(minLength ?? 0)} to ${String(maxLength)} characters`
  ].filter((text) => text !== "")
  return (id === undefined ? "" : ` \`${id}_…\``) + (range.length === 0 ? "" : ` ${range.join(", ")}`)
}

const typeOf = (schema: unknown): string => {
  if (!isJsonObject(schema)) throw new Error(`no schema: ${JSON.stringify(schema)}`)
  const { $ref, enum: literals, type, items, properties, anyOf } = schema
  if (typeof $ref === "string") return `[${ref($ref)}](#${ref($ref).toLowerCase()})`
  if (Array.isArray(literals)) return literals.map(textOf).join(", ")
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(" or ")
  if (type === "array") return `array of ${typeOf(items)}`
  if (type === "object" && isJsonObject(properties)) {
    const inner = Object.entries(properties).map(([name, field]) => `\`${name}\`: ${typeOf(field)}`)
    return `object (${inner.join("; ")})`
  }
  if (typeof type === "string") return `${type}${limits(schema)}`
  if (Object.keys(schema).length === 0) return "any JSON"
  throw new Error(`a schema that no table knows: ${JSON.stringify(schema)}`)
}

/** The lines of the table of an object schema, or a sentence where it has no fields. */
export const fieldTable = (schema: unknown): ReadonlyArray<string> => {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) throw new Error("not an object schema")
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : [])
  const rows = Object.entries(schema["properties"])
  if (rows.length === 0) return ["No fields."]
  return [
    "| Field | Required | Type |",
    "|---|---|---|",
    ...rows.map(
      ([name, field]) => `| \`${name}\` | ${required.has(name) ? "yes" : "no"} | ${typeOf(field)} |`
    )
  ]
}
