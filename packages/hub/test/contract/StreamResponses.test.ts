/** Every response of the contract that is not JSON arrives in pieces. Proxies pass it on as it arrives. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Caller, EndpointName } from "@corral/domain/hub-api/HubAuthorization"
import { gatewayEnv } from "@corral/testing/hub/Chats"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"
import { readFileSync } from "node:fs"
import { requests } from "./AuthorizationRequests.ts"
import { everyone, makeWorld, type World } from "./AuthorizationWorld.ts"

interface Contract {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly description?: string
            readonly responses: Readonly<
              Record<string, { readonly content?: Readonly<Record<string, unknown>> }>
            >
          }
        >
      >
    >
  >
}

// Written by our own generator.
const contract = JSON.parse(
  readFileSync(new URL("../../../../openapi/hub.json", import.meta.url), "utf8")
) as Contract

/** Media types other than JSON that a success of the endpoint may have. */
const streamedTypes = (method: string, path: string): ReadonlyArray<string> => {
  const operation = contract.paths[path.replaceAll(/:([A-Za-z]+)/g, "{$1}")]?.[method.toLowerCase()]
  const declared = Object.keys(operation?.responses["200"]?.content ?? {})
  const negotiated = operation?.description?.includes("`Accept: text/event-stream`") === true
  return [
    ...declared.filter((type) => type !== "application/json"),
    ...(negotiated ? ["text/event-stream"] : [])
  ]
}

const streams: Array<readonly [EndpointName, string]> = []
HttpApi.reflect(HubApi, {
  predicate: ({ endpoint, group }) => {
    const [type] = streamedTypes(endpoint.method, endpoint.path)
    // The names of the contract.
    if (type !== undefined) streams.push([`${group.identifier}.${endpoint.identifier}` as EndpointName, type])
    return false
  },
  onGroup: () => undefined,
  onEndpoint: () => undefined
})

describe("Streams of the Hub", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  let people: ReadonlyMap<Caller, HubClient>
  let world: World
  beforeAll(async () => {
    await hub.start()
    people = await everyone(hub)
    world = await makeWorld(hub, people)
  })
  afterAll(() => hub.remove())

  it("are known", () => {
    assert.includeMembers(
      streams.map(([name]) => name),
      [
        "runs.events",
        "news.follow",
        "audit.export",
        "conversations.export",
        "uploads.content",
        "runs.artifactContent"
      ]
    )
  })

  it.each(streams.filter(([name]) => requests[name].status === 200))(
    "%s asks proxies neither to collect nor to change it",
    async (name, accept) => {
      const { path } = requests[name].request(world)
      const answer = await fetch(hub.url + path, {
        headers: { authorization: `Bearer ${people.get("owner")?.token}`, accept }
      })
      await answer.body?.cancel()
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("x-accel-buffering"), "no")
      assert.include(answer.headers.get("cache-control"), "no-transform")
    }
  )
})
