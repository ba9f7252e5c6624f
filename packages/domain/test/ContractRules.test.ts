/** Sentences of the founding contract about every endpoint, checked in the OpenAPI documents of the three services. */
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { EdgeApi } from "../src/edge-api/EdgeApi.ts"
import { GatewayApi } from "../src/gateway-api/GatewayApi.ts"
import { HubApi } from "../src/hub-api/HubApi.ts"

const documents = [
  ["edge", OpenApi.fromApi(EdgeApi)],
  ["hub", OpenApi.fromApi(HubApi)],
  ["gateway", OpenApi.fromApi(GatewayApi)]
] as const

const operationsOf = ({ paths }: OpenApi.OpenAPISpec): ReadonlyArray<OpenApi.OpenAPISpecOperation> =>
  Object.values(paths).flatMap((item) =>
    (["get", "post", "patch", "put", "delete"] as const).flatMap((method) => item[method] ?? [])
  )

/** Names of all fields that a part of a document describes, through its references, and the references on the way. */
const fieldsIn = (
  part: unknown,
  schemas: Readonly<Record<string, unknown>>,
  seen: Set<string>
): ReadonlyArray<string> => {
  if (typeof part !== "object" || part === null) return []
  const entries: ReadonlyArray<readonly [string, unknown]> = Object.entries(part)
  return entries.flatMap(([key, value]) => {
    if (key === "properties" && typeof value === "object" && value !== null)
      return [...Object.keys(value), ...fieldsIn(Object.values(value), schemas, seen)]
    if (key !== "$ref") return fieldsIn(value, schemas, seen)
    const name = String(value).replace("#/components/schemas/", "")
    if (seen.has(name)) return []
    seen.add(name)
    return fieldsIn(schemas[name], schemas, seen)
  })
}

/** Credentials that Corral itself issues to their owner, public keys, the mark of a secret question, and keys of a keyboard. */
const corralFields = new Set(["token", "publicKey", "sealingKey", "secret", "singleKeys"])

describe("every endpoint", () => {
  it.each(documents)("of the %s: return no credentials but those of Corral", (_, document) => {
    const responses = operationsOf(document).map((operation) => operation.responses)
    const fields = new Set(fieldsIn(responses, document.components.schemas, new Set()))
    assert.isAbove(fields.size, 5)
    const suspicious = [...fields].filter((field) =>
      /(?:keys?|token|secrets?|passw\w*|credentials?|^env)$/i.test(field)
    )
    assert.deepStrictEqual(
      suspicious.filter((field) => !corralFields.has(field)),
      []
    )
  })

  it("with the raw output of a run is at an Edge only", () => {
    const serving = documents.filter(([, { paths }]) =>
      Object.keys(paths).some((path) => path.endsWith("/raw"))
    )
    assert.deepStrictEqual(
      serving.map(([name]) => name),
      ["edge"]
    )
  })

  it.each(documents)("of the %s: take no offset", (_, document) => {
    const names = operationsOf(document).flatMap(({ parameters }) => parameters.map(({ name }) => name))
    assert.deepStrictEqual(
      names.filter((name) => /^(?:offset|page|skip|start)/i.test(name)),
      []
    )
  })
})
