import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { HttpApi } from "effect/http-api"
import { assert, it } from "vitest"
import { endpointsOf } from "../../src/http/Unanswered.ts"

it("gives the endpoints of a contract that reflection gives", () => {
  const reflected: Array<string> = []
  const onEndpoint = ({
    endpoint
  }: {
    readonly endpoint: { readonly method: string; readonly path: string }
  }) => void reflected.push(`${endpoint.method} ${endpoint.path}`)
  HttpApi.reflect(EdgeApi, { onGroup: () => undefined, onEndpoint })
  HttpApi.reflect(HubApi, { onGroup: () => undefined, onEndpoint })
  const found = [...endpointsOf(EdgeApi), ...endpointsOf(HubApi)].map(
    ({ method, path }) => `${method} ${path}`
  )
  assert.deepStrictEqual(found, reflected)
  assert.isAbove(found.length, 50)
})
