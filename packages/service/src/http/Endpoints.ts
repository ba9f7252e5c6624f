/** Endpoints of a contract, without the schemas of their responses, which `HttpApi.reflect` would collect in milliseconds of a start. */
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"

export const endpointsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<HttpApiEndpoint.Top> => {
  const found: Array<HttpApiEndpoint.Top> = []
  HttpApi.reflect(api, {
    // Schemas are collected after it, for the endpoints that it selects.
    predicate: ({ endpoint }) => {
      found.push(endpoint)
      return false
    },
    onGroup: () => undefined,
    onEndpoint: () => undefined
  })
  return found
}

/** Path templates of a contract. */
export const endpointPaths = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<string> => endpointsOf(api).map(({ path }) => path)
