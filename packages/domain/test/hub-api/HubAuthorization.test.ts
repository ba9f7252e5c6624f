import { assert, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { HubApi } from "../../src/hub-api/HubApi.ts"
import { endpointAuthority } from "../../src/hub-api/HubAuthorization.ts"

describe("endpointAuthority", () => {
  it("names every endpoint of the Hub, and nothing else", () => {
    const served: Array<string> = []
    HttpApi.reflect(HubApi, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group }) => void served.push(`${group.identifier}.${endpoint.identifier}`)
    })
    assert.deepStrictEqual(Object.keys(endpointAuthority).toSorted(), served.toSorted())
  })
})
