import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { EdgePermissions } from "../../src/edge-api/Permissions.ts"
import { EdgeRuns } from "../../src/edge-api/Runs.ts"
import { ErrorObject } from "../../src/errors/ErrorTable.ts"
import { ApprovalAlreadyResolved, InvalidAgentId, NotFound, Overloaded } from "../../src/errors/Failures.ts"
import { encodeUlid, type RequestId, type RunId } from "../../src/identity/Ids.ts"
import {
  BearerAuthority,
  CurrentRequestId,
  RequestIds,
  SchemaErrors,
  withErrorObject
} from "../../src/http/RequestContext.ts"
import type { CreateRun, Run } from "../../src/run/Run.ts"

const Api = HttpApi.make("edge")
  .add(EdgeRuns, EdgePermissions)
  .annotate(HttpApi.ParseOptions, { errors: "all" })

const runId = `run_${encodeUlid(1_750_000_000_000, new Uint8Array(10))}` as RunId
const started = (create: CreateRun): Run => ({
  ...create,
  id: runId,
  state: "created",
  timeoutMs: create.timeoutMs ?? 1_800_000,
  lastSeq: 1,
  pendingApprovals: [],
  createdAt: "2026-06-09T00:00:00.000Z",
  updatedAt: "2026-06-09T00:00:00.000Z"
})

const busy = (afterMs: number | undefined) =>
  new Overloaded(afterMs === undefined ? {} : { details: { retryAfterSeconds: afterMs / 1000 } })

const notFound = () => withErrorObject(Effect.fail(new NotFound()))

const runs = HttpApiBuilder.group(Api, "runs", (handlers) =>
  Effect.succeed(
    handlers.handleAll({
      list: () =>
        CurrentRequestId.use((requestId) => Effect.succeed({ items: [], nextCursor: null, requestId })),
      create: ({ payload }) =>
        withErrorObject(
          Effect.gen(function* () {
            if (payload.agentId === "missing") return yield* new InvalidAgentId()
            if (payload.agentId === "busy") return yield* busy(payload.timeoutMs)
            return HttpApiSchema.withHeaders({
              body: started(payload),
              headers: { location: `/v1/runs/${runId}` }
            })
          })
        ),
      get: notFound,
      cancel: notFound,
      pause: notFound,
      resume: notFound,
      finish: notFound,
      input: notFound,
      result: notFound,
      raw: notFound,
      events: notFound
    })
  )
)

const permissions = HttpApiBuilder.group(Api, "permissions", (handlers) =>
  Effect.succeed(
    handlers.handleAll({
      list: () =>
        CurrentRequestId.use((requestId) => Effect.succeed({ items: [], nextCursor: null, requestId })),
      get: notFound,
      decide: ({ payload }) =>
        withErrorObject(
          Effect.fail(
            new ApprovalAlreadyResolved({ details: { approvalId: payload.approvalId, state: "approved" } })
          )
        )
    })
  )
)

const middleware = Layer.mergeAll(
  SchemaErrors.layer,
  Layer.succeed(RequestIds, (endpoint) =>
    Effect.provideService(endpoint, CurrentRequestId, "req-1" as RequestId)
  ),
  Layer.succeed(BearerAuthority, { bearer: (endpoint) => endpoint })
)

const { handler } = HttpRouter.toWebHandler(
  HttpApiBuilder.layer(Api).pipe(
    Layer.provide([runs, permissions]),
    Layer.provide(middleware),
    Layer.provide(HttpServer.layerServices)
  ),
  { disableLogger: true }
)

const call = async (path: string, body?: unknown) => {
  const response = await handler(
    new Request(`http://127.0.0.1${path}`, {
      headers: { authorization: "Bearer t", "content-type": "application/json" },
      ...(body === undefined
        ? {}
        : { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) })
    })
  )
  return {
    status: response.status,
    location: response.headers.get("location"),
    retryAfter: response.headers.get("retry-after"),
    body: await response.json()
  }
}

const refusal = async (path: string, body?: unknown) => {
  const answer = await call(path, body)
  return { status: answer.status, body: Schema.decodeUnknownSync(ErrorObject)(answer.body) }
}

const create = { workspace: "sample", agentId: "scripted", input: { text: "hello" }, mode: "ask" }

describe("EdgeApi", () => {
  it("answers a created run with 201 and its address", async () => {
    assert.deepStrictEqual(await call("/v1/runs", { ...create, unknown: true }), {
      status: 201,
      location: `/v1/runs/${runId}`,
      retryAfter: null,
      body: JSON.parse(JSON.stringify(started(create as CreateRun)))
    })
  })

  it("answers a failure with its status and the error object", async () => {
    assert.deepStrictEqual(await call("/v1/runs", { ...create, agentId: "missing" }), {
      status: 400,
      location: null,
      retryAfter: null,
      body: { code: "invalid_agent_id", message: "There is no agent with this id.", requestId: "req-1" }
    })
    assert.deepStrictEqual(await call(`/v1/runs/${runId}`), {
      status: 404,
      location: null,
      retryAfter: null,
      body: {
        code: "not_found",
        message: "This resource does not exist, or you may not see it.",
        requestId: "req-1"
      }
    })
  })

  it("says when to try again", async () => {
    const busy = { ...create, agentId: "busy" }
    assert.deepInclude(await call("/v1/runs", busy), { status: 503, retryAfter: "1" })
    assert.deepInclude(await call("/v1/runs", { ...busy, timeoutMs: 7_000 }), {
      status: 503,
      retryAfter: "7"
    })
    assert.deepInclude(await call(`/v1/runs/${runId}`), { status: 404, retryAfter: null })
  })

  it("carries the details of a decided approval", async () => {
    const approvalId = runId.replace("run", "apr")
    const { status, body } = await refusal("/v1/permissions/decide", { runId, approvalId, decision: "allow" })
    assert.strictEqual(status, 409)
    assert.strictEqual(body.code, "approval_already_resolved")
    assert.deepStrictEqual(body.details, { approvalId, state: "approved" })
  })

  it("answers 422 with every issue and none of the values", async () => {
    const { status, body } = await refusal("/v1/runs", { ...create, mode: "s3cret", resume: "/s3cret" })
    assert.strictEqual(status, 422)
    assert.strictEqual(body.code, "schema_validation_failed")
    assert.strictEqual(body.requestId, "req-1")
    assert.deepStrictEqual(body.details?.["issues"], [
      { path: "mode", message: 'Expected "read_only" | "plan" | "ask" | "auto_edit" | "full_access"' },
      { path: "resume", message: "Expected an id like run_01K…" }
    ])
    assert.notInclude(JSON.stringify(body), "s3cret")
  })

  it("answers 422 to a body that is not JSON", async () => {
    const { status, body } = await refusal("/v1/runs", "{s3cret")
    assert.strictEqual(status, 422)
    assert.deepStrictEqual(body.details, { issues: [{ path: "", message: "Expected a valid JSON body" }] })
  })

  it.each(["limit=0", "limit=201", "limit=ten", "limit=", "limit=1.5", "cursor=%2F", "state=paused"])(
    "refuses ?%s",
    async (query) => {
      assert.strictEqual((await call(`/v1/runs?${query}`)).status, 422)
    }
  )

  it("ignores query parameters that it does not know", async () => {
    assert.deepStrictEqual((await call("/v1/runs?limit=200&colour=red")).body, {
      items: [],
      nextCursor: null,
      requestId: "req-1"
    })
  })
})
