import { assert, describe, it } from "@effect/vitest"
import { edgeClient } from "../../src/Edge.ts"
import { hubClient } from "../../src/Hub.ts"
import { CorralError } from "../../src/http/CorralError.ts"
import { refusing, run, runId, serviceOf } from "../Services.ts"

const url = "http://127.0.0.1:1"
const created = { workspace: "here", agentId: "scripted", mode: "ask", input: { text: "hi" } } as const

const errorOf = (call: Promise<unknown>): Promise<CorralError> =>
  call.then(
    () => assert.fail("the call did not fail"),
    (error: unknown) => {
      assert.instanceOf(error, CorralError)
      return error
    }
  )

describe("calls", () => {
  it("send path, query and body as the contract declares them", async () => {
    const service = serviceOf(
      () => run("running", 1),
      () => Response.json({ items: [], nextCursor: null, requestId: "req_1" })
    )
    const edge = edgeClient({ url, token: () => Promise.resolve("secret"), fetch: service.fetch })
    await edge.runs.input({ params: { id: "run/1" }, payload: { text: "more" } })
    await edge.runs.list({ query: { limit: 5, state: "running" } })
    const [input, list] = service.requests
    assert.isDefined(input)
    assert.deepStrictEqual([input.method, input.path], ["POST", "/v1/runs/run%2F1/input"])
    assert.strictEqual(input.body, `{"text":"more"}`)
    assert.strictEqual(input.headers.get("content-type"), "application/json")
    assert.strictEqual(input.headers.get("authorization"), "Bearer secret")
    assert.deepStrictEqual([list?.method, list?.path], ["GET", "/v1/runs?limit=5&state=running"])
    assert.isNull(list?.headers.get("idempotency-key"))
  })

  it("give each write a key, unless the caller has one", async () => {
    const service = serviceOf(...Array.from({ length: 3 }, () => () => run("created", 1)))
    const edge = edgeClient({ url, fetch: service.fetch })
    await edge.runs.create({ payload: created })
    await edge.runs.create({ payload: created })
    await edge.runs.create({ payload: created, headers: { "idempotency-key": "mine" } })
    const keys = service.requests.map(({ headers }) => headers.get("idempotency-key"))
    assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/)
    assert.notStrictEqual(keys[0], keys[1])
    assert.strictEqual(keys[2], "mine")
  })

  it("fail with the error object of the service", async () => {
    const service = serviceOf(() => refusing(409, "run_not_cancellable"))
    const edge = edgeClient({ url, fetch: service.fetch })
    const error = await errorOf(edge.runs.cancel({ params: { id: runId } }))
    assert.deepStrictEqual([error.code, error.status, error.requestId], ["run_not_cancellable", 409, "req_1"])
    assert.isFalse(error.isTransient)
  })

  it("fail as unreachable where another program responds, redirects, or does not respond in time", async () => {
    const service = serviceOf(
      () => new Response("<html>", { status: 502 }),
      () => new Response(null, { status: 302, headers: { location: "https://evil.example" } })
    )
    const hub = hubClient({ url, token: "secret", fetch: service.fetch })
    assert.deepInclude(await errorOf(hub.auth.me()), { code: "unreachable", status: 502 })
    assert.deepInclude(await errorOf(hub.auth.me()), { code: "unreachable", status: 302 })
    assert.deepInclude(await errorOf(hub.auth.me()), { code: "unreachable", status: undefined })
    const silent: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) =>
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason))
      )
    const slow = hubClient({ url, fetch: silent, timeoutMs: 1 })
    assert.strictEqual((await errorOf(slow.auth.me())).code, "unreachable")
  })

  it("fail as invalid_response where a success is not JSON", async () => {
    const service = serviceOf(() => new Response("<html>"))
    const hub = hubClient({ url, fetch: service.fetch })
    assert.strictEqual((await errorOf(hub.auth.me())).code, "invalid_response")
  })

  it("end with the reason of the caller's signal", async () => {
    const hub = hubClient({ url, fetch: serviceOf().fetch })
    const call = hub.auth.me({ signal: AbortSignal.abort("enough") })
    assert.strictEqual(await call.catch((reason: unknown) => reason), "enough")
  })
})
