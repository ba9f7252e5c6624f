/**
 * OpenAPI document of a contract, as generators of clients need it: Effect's document with summaries, a server, integers as integers, ids that
 * are names, and tagged unions with a discriminator.
 *
 * Does not: change what is sent. A query value is text on the wire in both documents; only its declared type differs.
 */
import type { LayerStatus } from "@corral/domain/http/Health"
import { DEFAULT_LIMIT } from "@corral/domain/http/Page"
import { Schema } from "effect"
import { HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { isJsonObject } from "@corral/domain/text/JsonObject"
import { discriminated } from "./TaggedUnions.ts"

/** Address of a service. */
interface ServerText {
  readonly url: string
  readonly description: string
  readonly variables: Readonly<Record<string, { readonly default: string; readonly description: string }>>
}

export interface DocumentTexts {
  /** Of its layer. */
  readonly status: LayerStatus
  readonly server: ServerText
  /** Description of each group. */
  readonly groups: Readonly<Record<string, string>>
  /** Summary of each operation, by group and endpoint (`runs.create`). */
  readonly summaries: Readonly<Record<string, string>>
}

/** `runs.create` as `runsCreate`. */
const nameOf = (id: string): string => id.replaceAll(/\.(.)/g, (_, letter: string) => letter.toUpperCase())

/** Schemas of query parameters before they become text, by operation and name. */
const queryTypes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyMap<string, Readonly<Record<string, unknown>>> => {
  const found = new Map<string, Readonly<Record<string, unknown>>>()
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      if (endpoint.query === undefined) return
      const { schema } = Schema.toJsonSchemaDocument(Schema.toType(endpoint.query))
      const { properties } = schema
      if (isJsonObject(properties)) found.set(`${group.identifier}.${endpoint.identifier}`, properties)
    }
  })
  return found
}

const isNumeric = (schema: unknown): schema is Readonly<Record<string, unknown>> =>
  isJsonObject(schema) && (schema["type"] === "integer" || schema["type"] === "number")

const typedParameter = (
  parameter: OpenApi.OpenAPISpecParameter,
  types: Readonly<Record<string, unknown>> | undefined
): object => {
  const schema = parameter.in === "query" ? types?.[parameter.name] : undefined
  if (!isNumeric(schema)) return parameter
  return { ...parameter, schema: parameter.name === "limit" ? { ...schema, default: DEFAULT_LIMIT } : schema }
}

/** Where the contract declares no refusal. */
const anyRefusal = {
  description: "The request is refused, with an error object.",
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["code", "message", "requestId"],
        properties: {
          code: { type: "string" },
          message: { type: "string" },
          requestId: { type: "string" },
          details: { type: "object" }
        }
      }
    }
  }
}

const isRefusal = (status: string): boolean => status.startsWith("4")

/** An object with any fields. Generators take one without this for an object without fields. */
const isFree = ({ properties, additionalProperties, type }: Readonly<Record<string, unknown>>): boolean =>
  type === "object" && properties === undefined && (additionalProperties ?? true) === true

/** The value without what only Effect's clients read, and with free objects marked. */
const forGenerators = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(forGenerators)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(isFree(value) ? { ...value, additionalProperties: {} } : value)
  return Object.fromEntries(
    entries.flatMap(([key, inner]) => (key === "x-effect-stream" ? [] : [[key, forGenerators(inner)]]))
  )
}

const documentOperation = (operationId: string, summary: string, security: ReadonlyArray<object>) => ({
  get: {
    operationId,
    summary,
    tags: ["documents"],
    parameters: [],
    security,
    responses: {
      "200": {
        description: "The document",
        content: { "application/json": { schema: { type: "object", additionalProperties: {} } } }
      },
      "4XX": anyRefusal
    }
  }
})

/** Every service serves its documents: with the token, where all else but health needs one. */
const documentPaths = ({ components }: OpenApi.OpenAPISpec) => {
  const schemes = Object.keys(components.securitySchemes)
  const security = schemes.length === 1 ? schemes.map((name) => ({ [name]: [] })) : []
  return {
    "/openapi.json": documentOperation("documentsOpenApi", "Read this document", security),
    "/asyncapi.json": documentOperation(
      "documentsAsyncApi",
      "Read the document of the event streams",
      security
    )
  }
}

/** The published document. Fails if an operation or a group has no text. */
export const openApiDocument = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  { groups, server, status, summaries }: DocumentTexts
): unknown => {
  const spec = OpenApi.fromApi(api)
  const types = queryTypes(api)
  const textOf = (texts: Readonly<Record<string, string>>, id: string): string => {
    const text = texts[id]
    if (text === undefined) throw new Error(`scripts/openapi has no text for ${id}`)
    return text
  }
  const operationOf = (operation: OpenApi.OpenAPISpecOperation) => {
    const { operationId: id, parameters, responses } = operation
    return {
      ...operation,
      operationId: nameOf(id),
      summary: textOf(summaries, id),
      parameters: parameters.map((each) => typedParameter(each, types.get(id))),
      responses: Object.keys(responses).some(isRefusal) ? responses : { ...responses, "4XX": anyRefusal }
    }
  }
  const paths = Object.entries(spec.paths).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, each]) => [
        method,
        operationOf(each as OpenApi.OpenAPISpecOperation)
      ])
    )
  ])
  const schemas = Object.entries(spec.components.schemas).map(([name, schema]) => [
    name,
    forGenerators(schema)
  ])
  return discriminated({
    ...spec,
    info: {
      ...spec.info,
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
      "x-status": status
    },
    servers: [server],
    tags: [
      ...spec.tags.map((tag) => ({ ...tag, description: textOf(groups, tag.name) })),
      { name: "documents", description: "Documents of the contract." }
    ],
    paths: { ...(forGenerators(Object.fromEntries(paths)) as object), ...documentPaths(spec) },
    components: { ...spec.components, schemas: Object.fromEntries(schemas) }
  })
}
