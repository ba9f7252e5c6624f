import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { EdgeApi } from "../../src/edge-api/EdgeApi.ts"
import { GatewayApi } from "../../src/gateway-api/GatewayApi.ts"
import { HubApi } from "../../src/hub-api/HubApi.ts"

/** Responses with 503, with the schemas that they refer to, as text. */
const unavailableResponses = (document: OpenApi.OpenAPISpec): ReadonlyArray<readonly [string, string]> =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    (["get", "post", "patch", "delete"] as const).flatMap((method) => {
      const response = item[method]?.responses[503]
      if (response === undefined || path.endsWith("/health")) return []
      const text = JSON.stringify(response)
      const referred = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = ""]) =>
        JSON.stringify(document.components.schemas[name])
      )
      return [[`${method} ${path}`, [text, ...referred].join("")] as const]
    })
  )

// Every endpoint can be busy. A client with the published contract must be able to decode that where other codes share the status.
describe.each([
  ["Edge", OpenApi.fromApi(EdgeApi)],
  ["Hub", OpenApi.fromApi(HubApi)],
  ["Gateway", OpenApi.fromApi(GatewayApi)]
])("responses of the %s with status 503", (_, document) => {
  it("can be `overloaded`", () => {
    const responses = unavailableResponses(document)
    assert.isNotEmpty(responses)
    assert.deepStrictEqual(
      responses.flatMap(([operation, text]) => (text.includes('"overloaded"') ? [] : [operation])),
      []
    )
  })
})
