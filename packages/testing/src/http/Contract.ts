/**
 * A published contract, as it judges answers: `openapi/<service>.json`, read from disk. A refusal that an endpoint does not declare is still
 * to be an error object.
 */
import { readFileSync } from "node:fs"
import { type JsonSchema, validator } from "./JsonSchema.ts"

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
