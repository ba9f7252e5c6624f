/** What an Edge answers to requests that it must not serve: the right refusal, as the error object, with nothing that should not be told. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Answer, type EdgeRequest, codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const good = { workspace: "ws", agentId: "scripted", mode: "ask", input: { text: "/say hello" } }
const secret = "hunter2-do-not-repeat"

/** An error object with exactly its fields, equal to its headers. */
const assertRefusal = (answer: Answer, status: number, code: string, what: string): void => {
  assert.deepStrictEqual([what, answer.status, codeOf(answer)], [what, status, code])
  const { requestId } = answer.body as { readonly requestId?: unknown }
  assert.strictEqual(requestId, answer.headers.get("x-request-id"), what)
  assert.notInclude(answer.text, secret, what)
  assert.notInclude(answer.text, edge.token, what)
}

const evil = { origin: "https://evil.example" }

const refusals: ReadonlyArray<readonly [string, string, string, EdgeRequest, number, string]> = [
  ["no token", "GET", "/v1/runs", { token: null }, 401, "unauthorized"],
  ["wrong token", "GET", "/v1/runs", { token: "wrong" }, 401, "unauthorized"],
  ["wrong token on health", "GET", "/health", { token: "wrong" }, 401, "unauthorized"],
  [
    "other scheme",
    "GET",
    "/v1/runs",
    { token: null, headers: { authorization: "Basic eDp5" } },
    401,
    "unauthorized"
  ],
  ["no token, unknown path", "GET", "/nowhere", { token: null }, 401, "unauthorized"],
  ["no token, post", "POST", "/v1/runs", { token: null, body: good }, 401, "unauthorized"],
  ["query token", "GET", `/v1/runs?token=${secret}`, { token: null }, 401, "unauthorized"],
  ["foreign origin", "GET", "/v1/runs", { headers: evil }, 403, "permission_denied"],
  ["foreign origin on health", "GET", "/health", { token: null, headers: evil }, 403, "permission_denied"],
  ["foreign origin, unknown path", "GET", "/nowhere", { headers: evil }, 403, "permission_denied"],
  ["origin null", "GET", "/v1/runs", { headers: { origin: "null" } }, 403, "permission_denied"],
  [
    "preflight",
    "OPTIONS",
    "/v1/runs",
    { token: null, headers: { ...evil, "access-control-request-method": "POST" } },
    403,
    "permission_denied"
  ],
  ["options", "OPTIONS", "/v1/runs", {}, 405, "method_not_allowed"],
  ["unknown agent", "POST", "/v1/runs", { body: { ...good, agentId: "missing" } }, 400, "invalid_agent_id"],
  [
    "agent of the prototype",
    "POST",
    "/v1/runs",
    { body: { ...good, agentId: "__proto__" } },
    400,
    "invalid_agent_id"
  ],
  [
    "unknown workspace",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: "other" } },
    403,
    "workspace_outside_allowlist"
  ],
  [
    "climbing workspace",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: "../.." } },
    403,
    "workspace_outside_allowlist"
  ],
  [
    "climbing from within",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: "ws/../.." } },
    403,
    "workspace_outside_allowlist"
  ],
  [
    "absolute workspace",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: "/etc" } },
    403,
    "workspace_outside_allowlist"
  ],
  [
    "workspace with a null",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: "ws\0" } },
    403,
    "workspace_outside_allowlist"
  ],
  [
    "mode without grant",
    "POST",
    "/v1/runs",
    { body: { ...good, mode: "full_access" } },
    403,
    "permission_denied"
  ],
  [
    "environment",
    "POST",
    "/v1/runs",
    { body: { ...good, env: { LD_PRELOAD: secret } } },
    403,
    "permission_denied"
  ],
  [
    "wrong types",
    "POST",
    "/v1/runs",
    { body: { ...good, workspace: { secret }, input: { text: [secret] } } },
    422,
    "schema_validation_failed"
  ],
  ["unknown mode", "POST", "/v1/runs", { body: { ...good, mode: secret } }, 422, "schema_validation_failed"],
  ["no input", "POST", "/v1/runs", { body: { ...good, input: undefined } }, 422, "schema_validation_failed"],
  [
    "empty text",
    "POST",
    "/v1/runs",
    { body: { ...good, input: { text: "" } } },
    422,
    "schema_validation_failed"
  ],
  [
    "long text",
    "POST",
    "/v1/runs",
    { body: { ...good, input: { text: "x".repeat(262_145) } } },
    422,
    "schema_validation_failed"
  ],
  [
    "long text in bytes",
    "POST",
    "/v1/runs",
    { body: { ...good, input: { text: "é".repeat(131_073) } } },
    422,
    "schema_validation_failed"
  ],
  ["timeout", "POST", "/v1/runs", { body: { ...good, timeoutMs: 1 } }, 422, "schema_validation_failed"],
  ["model", "POST", "/v1/runs", { body: { ...good, model: `--${secret}` } }, 422, "schema_validation_failed"],
  [
    "resume of nothing",
    "POST",
    "/v1/runs",
    { body: { ...good, resume: "run_00000000000000000000000000" } },
    422,
    "schema_validation_failed"
  ],
  [
    "isolation",
    "POST",
    "/v1/runs",
    { body: { ...good, isolation: secret } },
    422,
    "schema_validation_failed"
  ],
  ["bad JSON", "POST", "/v1/runs", { body: `{"workspace": "${secret}` }, 422, "schema_validation_failed"],
  ["empty object", "POST", "/v1/runs", { body: {} }, 422, "schema_validation_failed"],
  ["array", "POST", "/v1/runs", { body: [secret] }, 422, "schema_validation_failed"],
  ["text", "POST", "/v1/runs", { body: JSON.stringify(secret) }, 422, "schema_validation_failed"],
  ["null", "POST", "/v1/runs", { body: "null" }, 422, "schema_validation_failed"],
  [
    "deep arrays",
    "POST",
    "/v1/runs",
    { body: "[".repeat(100_000) + "]".repeat(100_000) },
    422,
    "schema_validation_failed"
  ],
  [
    "deep objects",
    "POST",
    "/v1/runs",
    { body: `${'{"input":'.repeat(50_000)}1${"}".repeat(50_000)}` },
    422,
    "schema_validation_failed"
  ],
  [
    "prototype",
    "POST",
    "/v1/runs",
    { body: `{"__proto__":${JSON.stringify(good)}}` },
    422,
    "schema_validation_failed"
  ],
  [
    "no body",
    "POST",
    "/v1/runs",
    { headers: { "content-type": "application/json" } },
    422,
    "schema_validation_failed"
  ],
  [
    "form",
    "POST",
    "/v1/runs",
    { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } },
    415,
    "unsupported_media_type"
  ],
  [
    "plain text",
    "POST",
    "/v1/runs",
    { body: JSON.stringify(good), headers: { "content-type": "text/plain" } },
    415,
    "unsupported_media_type"
  ],
  [
    "almost JSON",
    "POST",
    "/v1/runs",
    { body: good, headers: { "content-type": "application/jsonx" } },
    415,
    "unsupported_media_type"
  ],
  ["decide nothing", "POST", "/v1/permissions/decide", { body: {} }, 422, "schema_validation_failed"],
  [
    "decide otherwise",
    "POST",
    "/v1/permissions/decide",
    {
      body: {
        runId: "run_00000000000000000000000000",
        approvalId: "apr_00000000000000000000000000",
        decision: secret
      }
    },
    422,
    "schema_validation_failed"
  ],
  ["unknown path", "GET", "/v1/nowhere", {}, 404, "not_found"],
  ["climbing path", "GET", "/v1/../etc/passwd", {}, 404, "not_found"],
  ["encoded path", "GET", "/v1/runs/%2e%2e%2f", {}, 422, "schema_validation_failed"],
  ["unknown run", "GET", "/v1/runs/run_00000000000000000000000000", {}, 404, "not_found"],
  ["unknown approval", "GET", "/v1/permissions/apr_00000000000000000000000000", {}, 404, "not_found"],
  ["bad id", "GET", `/v1/runs/${secret}`, {}, 422, "schema_validation_failed"],
  ["wrong method", "DELETE", "/v1/runs", {}, 405, "method_not_allowed"],
  ["wrong method on a run", "PUT", "/v1/runs/run_00000000000000000000000000", {}, 405, "method_not_allowed"],
  ["limit 0", "GET", "/v1/runs?limit=0", {}, 422, "schema_validation_failed"],
  ["limit 201", "GET", "/v1/runs?limit=201", {}, 422, "schema_validation_failed"],
  ["limit text", "GET", `/v1/runs?limit=${secret}`, {}, 422, "schema_validation_failed"],
  ["bad cursor", "GET", `/v1/runs?cursor=${secret}`, {}, 422, "schema_validation_failed"],
  ["long cursor", "GET", `/v1/runs?cursor=${"A".repeat(1_025)}`, {}, 422, "schema_validation_failed"],
  ["bad state", "GET", `/v1/runs?state=${secret}`, {}, 422, "schema_validation_failed"]
]

describe("A request that must not be served", () => {
  for (const [what, method, target, ask, status, code] of refusals) {
    it(`${what}: ${status} ${code}`, async () => {
      const answer = await client.ask(method, target, ask)
      assertRefusal(answer, status, code, what)
      if (status === 422) {
        const { details } = answer.body as { readonly details?: { readonly issues?: ReadonlyArray<unknown> } }
        assert.isNotEmpty(details?.issues, "the issues are listed")
      }
      if (status === 401) assert.strictEqual(answer.headers.get("www-authenticate"), "Bearer")
      if (status === 405) assert.isNotEmpty(answer.headers.get("allow"))
    })
  }

  it("is not one of 256 KiB exactly", async () => {
    const text = `/say ${"é".repeat(131_069)}x`
    assert.strictEqual(Buffer.byteLength(text), 262_144)
    const separateEdge = await openEdgeInProcess()
    assert.strictEqual((await separateEdge.client.create(text)).input.text, text)
  })

  it("whose path cannot be decoded: neither a route nor a wrong method", async () => {
    const answer = await client.ask("GET", "/v1/runs/%E0%A4%A")
    assert.include([404, 422], answer.status)
  })

  it("has created nothing", async () => {
    const { body } = await client.ask("GET", "/v1/runs")
    assert.deepStrictEqual((body as { readonly items?: unknown }).items, [])
  })

  it("leaves no token in the log", () => {
    assert.notInclude(edge.stderr, edge.token)
    assert.notInclude(edge.stderr, secret)
  })
})

describe("The request id", () => {
  it("is the caller's where it is good, in header and body", async () => {
    for (const id of ["mine", "A-z_0.9", "x".repeat(128)]) {
      const served = await client.ask("GET", "/v1/runs", { headers: { "x-request-id": id } })
      assert.strictEqual(served.headers.get("x-request-id"), id)
      const refused = await client.ask("GET", "/v1/nowhere", { headers: { "x-request-id": id } })
      assert.strictEqual((refused.body as { readonly requestId?: unknown }).requestId, id)
      const unauthorized = await client.ask("GET", "/v1/runs", {
        token: null,
        headers: { "x-request-id": id }
      })
      assert.strictEqual(unauthorized.headers.get("x-request-id"), id)
    }
  })

  it("is replaced when the caller's is not", async () => {
    for (const id of ["", "with space", "x".repeat(129), "a,b", "<script>", "é"]) {
      const { headers } = await client.ask("GET", "/v1/runs", { headers: { "x-request-id": id } })
      assert.match(headers.get("x-request-id") ?? "", /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
    }
  })
})

describe("A runtime whose program is missing", () => {
  it("is runtime_unavailable, and said to be so", async () => {
    const separateEdge = await openEdgeInProcess({ env: { PATH: "/nonexistent" } })
    const answer = await separateEdge.client.tryCreate("hello", "ask", { agentId: "claude-code" })
    assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "runtime_unavailable"])
    const { body } = await separateEdge.client.ask("GET", "/v1/agents")
    const { items } = body as {
      readonly items: ReadonlyArray<{ readonly id: string; readonly available: boolean }>
    }
    assert.deepInclude(
      items.map(({ available, id }) => ({ available, id })),
      { available: false, id: "claude-code" }
    )
  })
})
