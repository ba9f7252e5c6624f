/**
 * A published contract, as it judges answers: `openapi/<service>.json`, read from disk. A refusal that an endpoint does not declare is still
 * to be an error object. An answer is read whole.
 */
import { readFileSync } from "node:fs"
import { isJsonObject } from "@corral/domain/text/JsonObject"

/** An answer over HTTP, read whole. */
export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** `undefined` where there is none. */
  readonly body: Body
}

/** The code of a refusal. */
export const codeOf = (answer: Answer): unknown => (answer.body as { readonly code?: unknown }).code

// The part of JSON Schema 2020-12 that our OpenAPI documents use. Gives what does not fit, as `path: what`; a keyword it does not know is
// an error, so that nothing passes unseen.

interface JsonSchema {
  readonly [keyword: string]: unknown
}

type Problems = Array<string>
type Check = (rule: never, value: unknown, path: string, problems: Problems, schema: JsonSchema) => void

const isOfType = (value: unknown, type: string): boolean => {
  switch (type) {
    case "null":
      return value === null
    case "array":
      return Array.isArray(value)
    case "object":
      return isJsonObject(value)
    case "integer":
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

/** Compiled patterns: a contract has few, and tests judge thousands of answers by them. */
const patterns = new Map<string, RegExp>()
const compiled = (pattern: string): RegExp => {
  const found = patterns.get(pattern) ?? new RegExp(pattern, "u")
  patterns.set(pattern, found)
  return found
}

/** A validator over the `components` of one document. */
const validator = (schemas: Readonly<Record<string, JsonSchema>>) => {
  const problemsOf = (schema: JsonSchema, value: unknown, path = ""): ReadonlyArray<string> => {
    const problems: Problems = []
    for (const [keyword, rule] of Object.entries(schema)) {
      if (annotations.has(keyword)) continue
      const check = checks[keyword]
      if (check === undefined) throw new Error(`the keyword ${keyword} is not known here`)
      // Each check is written for what its keyword holds.
      check(rule as never, value, path, problems, schema)
    }
    return problems
  }

  const checks: Readonly<Record<string, Check>> = {
    $ref: (ref: string, value, path, problems) => {
      const name = ref.replace("#/components/schemas/", "")
      const schema = schemas[name]
      if (schema === undefined) throw new Error(`there is no schema ${ref}`)
      problems.push(...problemsOf(schema, value, path))
    },
    type: (type: string | ReadonlyArray<string>, value, path, problems) => {
      if (![type].flat().some((each) => isOfType(value, each))) problems.push(`${path}: not ${String(type)}`)
    },
    properties: (properties: Readonly<Record<string, JsonSchema>>, value, path, problems) => {
      if (!isJsonObject(value)) return
      for (const [name, schema] of Object.entries(properties)) {
        if (Object.hasOwn(value, name)) problems.push(...problemsOf(schema, value[name], `${path}.${name}`))
      }
    },
    required: (names: ReadonlyArray<string>, value, path, problems) => {
      if (!isJsonObject(value)) return
      for (const name of names) if (!Object.hasOwn(value, name)) problems.push(`${path}.${name}: missing`)
    },
    additionalProperties: (allowed: boolean | JsonSchema, value, path, problems, { properties }) => {
      if (!isJsonObject(value) || allowed === true) return
      for (const [name, each] of Object.entries(value)) {
        if (isJsonObject(properties) && Object.hasOwn(properties, name)) continue
        if (allowed === false) problems.push(`${path}.${name}: not declared`)
        else problems.push(...problemsOf(allowed, each, `${path}.${name}`))
      }
    },
    items: (schema: JsonSchema, value, path, problems) => {
      if (Array.isArray(value))
        for (const [i, each] of value.entries()) problems.push(...problemsOf(schema, each, `${path}[${i}]`))
    },
    minItems: (least: number, value, path, problems) => {
      if (Array.isArray(value) && value.length < least) problems.push(`${path}: too few`)
    },
    maxItems: (most: number, value, path, problems) => {
      if (Array.isArray(value) && value.length > most) problems.push(`${path}: too many`)
    },
    anyOf: (choices: ReadonlyArray<JsonSchema>, value, path, problems) => {
      const found = choices.map((each) => problemsOf(each, value, path))
      if (found.every((each) => each.length > 0)) problems.push(...found.flat())
    },
    oneOf: (choices: ReadonlyArray<JsonSchema>, value, path, problems) => {
      const found = choices.map((each) => problemsOf(each, value, path))
      const fitting = found.filter((each) => each.length === 0).length
      if (fitting === 0) problems.push(...found.flat())
      if (fitting > 1) problems.push(`${path}: fits more than one alternative`)
    },
    allOf: (parts: ReadonlyArray<JsonSchema>, value, path, problems) => {
      for (const part of parts) problems.push(...problemsOf(part, value, path))
    },
    enum: (values: ReadonlyArray<unknown>, value, path, problems) => {
      if (!values.includes(value)) problems.push(`${path}: not one of ${values.join(", ")}`)
    },
    const: (wanted: unknown, value, path, problems) => {
      if (value !== wanted) problems.push(`${path}: not ${String(wanted)}`)
    },
    pattern: (pattern: string, value, path, problems) => {
      if (typeof value === "string" && !compiled(pattern).test(value))
        problems.push(`${path}: does not match ${pattern}`)
    },
    minLength: (least: number, value, path, problems) => {
      if (typeof value === "string" && [...value].length < least) problems.push(`${path}: too short`)
    },
    maxLength: (most: number, value, path, problems) => {
      if (typeof value === "string" && [...value].length > most) problems.push(`${path}: too long`)
    },
    minimum: (least: number, value, path, problems) => {
      if (typeof value === "number" && value < least) problems.push(`${path}: below ${least}`)
    },
    maximum: (most: number, value, path, problems) => {
      if (typeof value === "number" && value > most) problems.push(`${path}: above ${most}`)
    }
  }
  return problemsOf
}

const annotations = new Set([
  "description",
  "title",
  "examples",
  "default",
  "discriminator",
  "format",
  "contentMediaType"
])

interface Response {
  readonly content?: { readonly "application/json"?: { readonly schema: JsonSchema } }
}
interface Operation {
  readonly responses: Readonly<Record<string, Response>>
}
interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

const errorObject: JsonSchema = {
  type: "object",
  required: ["code", "message", "requestId"],
  properties: {
    code: { type: "string", pattern: "^[a-z_]+$" },
    message: { type: "string", minLength: 1 },
    requestId: { type: "string", pattern: "^[A-Za-z0-9._-]{1,128}$" },
    details: { type: "object" }
  },
  additionalProperties: false
}

/** What in an answer does not fit the contract; empty where all does. */
export type ContractCheck = (
  method: string,
  path: string,
  status: number,
  body: unknown
) => ReadonlyArray<string>

export const contractOf = (service: "edge" | "gateway" | "hub"): ContractCheck => {
  const file = new URL(`../../../../openapi/${service}.json`, import.meta.url)
  // Written by our own generator.
  const contract = JSON.parse(readFileSync(file, "utf8")) as OpenApiDocument
  const problemsOf = validator(contract.components.schemas)
  const routes = Object.entries(contract.paths).map(([template, operations]) => ({
    path: new RegExp(`^${template.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
    literal: !template.includes("{"),
    operations
  }))
  // `/v1/permissions/decide` before `/v1/permissions/{id}`.
  routes.sort((a, b) => Number(b.literal) - Number(a.literal))

  return (method, path, status, body) => {
    const operation = routes.find((route) => route.path.test(path))?.operations[method.toLowerCase()]
    const declared = operation?.responses[status]
    if (status >= 400) {
      const declaredSchema = declared?.content?.["application/json"]?.schema
      // A service that is not ready answers with its health.
      if (status === 503 && path.endsWith("/health") && declaredSchema !== undefined)
        return problemsOf(declaredSchema, body)
      return [
        ...problemsOf(errorObject, body),
        ...(declaredSchema === undefined ? [] : problemsOf(declaredSchema, body))
      ]
    }
    if (declared === undefined) return [`${status} is not declared for ${method} ${path}`]
    const schema = declared.content?.["application/json"]?.schema
    return schema === undefined ? [] : problemsOf(schema, body)
  }
}
