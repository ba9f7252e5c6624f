import { assert, describe, it } from "@effect/vitest"
import { OTHER_ROUTE, routeNames } from "../../src/http/RequestWatch.ts"

describe("routeNames", () => {
  const nameOf = routeNames([
    "/health",
    "/v1/runs",
    "/v1/runs/:id",
    "/v1/runs/:id/events",
    "/v1/runs/latest",
    "/v1/:kind"
  ])

  it.each([
    ["/health", "/health"],
    ["/health?token=s3cret", "/health"],
    ["/v1/runs", "/v1/runs"],
    ["/v1/runs/run_1", "/v1/runs/:id"],
    ["/v1/runs/latest", "/v1/runs/latest"],
    ["/v1/runs/%2e%2e?x=/v1/runs", "/v1/runs/:id"],
    ["/v1/runs/run_1/events#x", "/v1/runs/:id/events"],
    ["/v1/else", "/v1/:kind"]
  ])("calls %s %s", (target, name) => {
    assert.strictEqual(nameOf(target), name)
  })

  it.each(["/", "", "/v1", "/v1/", "/v1/runs/", "/v1/runs/a/b/c", "http://evil/health", "/health/", "*"])(
    "has no name for %j",
    (target) => {
      assert.strictEqual(nameOf(target), OTHER_ROUTE)
    }
  )
})
