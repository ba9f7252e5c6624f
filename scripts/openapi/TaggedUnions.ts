/**
 * Tagged unions of an OpenAPI document: alternatives that one required field with a fixed text tells apart. They become `oneOf` with a
 * `discriminator`, and each alternative becomes a named schema, because a discriminator maps to names.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"

type Json = Readonly<Record<string, unknown>>

interface Document {
  readonly components: { readonly schemas: Json }
}

const PREFIX = "#/components/schemas/"

const capitalized = (text: string): string =>
  text.replaceAll(/(?:^|[^A-Za-z0-9])([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The fixed text of a field, if the field is required. */
const tagOf = ({ properties, required }: Json, field: string): string | undefined => {
  const schema = isJsonObject(properties) ? properties[field] : undefined
  const values = isJsonObject(schema) ? schema["enum"] : undefined
  const [value] = Array.isArray(values) && values.length === 1 ? values : []
  return Array.isArray(required) && required.includes(field) && typeof value === "string" ? value : undefined
}

/** The field that tells the alternatives apart, and its text in each. */
const discriminatorOf = (
  alternatives: ReadonlyArray<Json>
): { readonly field: string; readonly tags: ReadonlyArray<string> } | undefined => {
  const { properties } = alternatives[0] ?? {}
  for (const field of isJsonObject(properties) ? Object.keys(properties) : []) {
    const tags = alternatives.flatMap((each) => tagOf(each, field) ?? [])
    if (tags.length === alternatives.length && new Set(tags).size === tags.length) return { field, tags }
  }
  return undefined
}

class NamedUnions {
  readonly schemas: Record<string, unknown> = {}
  private readonly components: Json

  constructor(schemas: Json) {
    this.components = schemas
  }

  /** The value with its tagged unions discriminated. `name` is the name of a schema at this place. */
  convert(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return value.map((each) => this.convert(each, name))
    if (!isJsonObject(value)) return value
    const inner = Object.entries(value).map(([key, each]) => [
      key,
      this.convert(each, this.nameAt(name, key))
    ])
    return this.union(Object.fromEntries(inner), name)
  }

  /** Keywords add nothing to a name; fields do. */
  private nameAt(name: string, key: string): string {
    return keywords.has(key) ? name : name + capitalized(key)
  }

  private union(value: Json, name: string): Json {
    const { anyOf, ...rest } = value
    if (!Array.isArray(anyOf) || anyOf.length < 2 || !anyOf.every(isJsonObject)) return value
    const found = discriminatorOf(anyOf.map((each) => this.resolved(each)))
    if (found === undefined) return value
    const refs = anyOf.map((each, at) =>
      this.referenceTo(each, `${name}${capitalized(found.tags[at] ?? "")}`)
    )
    return {
      ...rest,
      oneOf: refs.map(($ref) => ({ $ref })),
      discriminator: {
        propertyName: found.field,
        mapping: Object.fromEntries(found.tags.map((tag, at) => [tag, refs[at]]))
      }
    }
  }

  private resolved(schema: Json): Json {
    const { $ref } = schema
    const target = typeof $ref === "string" ? this.components[$ref.slice(PREFIX.length)] : schema
    return isJsonObject(target) ? target : schema
  }

  private referenceTo(schema: Json, name: string): string {
    const { $ref } = schema
    if (typeof $ref === "string") return $ref
    const other = this.schemas[name] ?? this.components[name]
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`two schemas are named ${name}`)
    this.schemas[name] = schema
    return PREFIX + name
  }
}

const keywords = new Set([
  "paths",
  "components",
  "schemas",
  "schema",
  "properties",
  "items",
  "anyOf",
  "allOf",
  "content",
  "application/json",
  "responses",
  "requestBody",
  "get",
  "post",
  "patch",
  "delete"
])

/** The document with discriminators. */
export const discriminated = <D extends Document>(document: D): unknown => {
  const { schemas } = document.components
  const unions = new NamedUnions(schemas)
  const named = Object.entries(schemas).map(([name, schema]) => [name, unions.convert(schema, name)])
  const { components, ...rest } = document
  const converted = unions.convert(rest, "")
  return {
    ...(isJsonObject(converted) ? converted : {}),
    components: { ...components, schemas: { ...Object.fromEntries(named), ...unions.schemas } }
  }
}
