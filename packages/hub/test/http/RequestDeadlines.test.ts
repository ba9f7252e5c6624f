import { HubApi } from "@corral/domain/hub-api/HubApi"
import { endpointsOf } from "@corral/service/http/Unanswered"
import { assert, describe, it } from "@effect/vitest"
import { COMMAND_DEADLINE_MS, deadlineMsOf } from "../../src/http/HubRequestPolicy.ts"

/** What streams, or reads a whole chain. */
const unlimited = /(?:\/events|\/export|\/verify|\/content|\/news)$/

describe("deadlines of requests", () => {
  it.each(endpointsOf(HubApi).map(({ method, path }) => [method, path] as const))("%s %s", (method, path) => {
    const deadline = deadlineMsOf(method, path)
    if (unlimited.test(path) && method === "GET") assert.isUndefined(deadline)
    else assert.include([10_000, COMMAND_DEADLINE_MS], deadline)
  })

  it.each(["/console.js", "/device"])("an address outside the contract, such as %s, has one too", (path) =>
    assert.strictEqual(deadlineMsOf("GET", path), 10_000)
  )
})
