import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { requestDeadlines } from "../../src/http/RequestDeadline.ts"
import { ServiceAddress } from "../../src/http/Answering.ts"
import { serverLayer } from "./Served.ts"

const text = (status: number) => Effect.succeed(HttpServerResponse.text("done", { status }))

const serving = Effect.fnUntraced(function* () {
  const ended = yield* Deferred.make<void>()
  const released = yield* Deferred.make<void>()
  const stuck = Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
  const routes = Layer.mergeAll(
    HttpRouter.add("GET", "/quick/:id", text(200)),
    HttpRouter.add("GET", "/stuck", stuck),
    HttpRouter.add("POST", "/stuck", stuck),
    // Its end waits for something that is gone.
    HttpRouter.add(
      "GET",
      "/held",
      Effect.onInterrupt(Effect.never, () => Deferred.await(released))
    ),
    HttpRouter.add("GET", "/patient", Effect.delay(text(201), 100)),
    HttpRouter.add("GET", "/defect", Effect.die("broken"))
  )
  const deadlines = requestDeadlines((_, path) => (path === "/patient" ? undefined : 20))
  const server = serverLayer()
  const context = yield* Layer.build(
    Layer.provideMerge(
      HttpRouter.serve(Layer.provide(routes, deadlines), { disableListenLog: true, disableLogger: true }),
      server
    )
  )
  const { url } = Context.get(context, ServiceAddress)
  const ask = (method: string, path: string) =>
    Effect.promise(async () => {
      const response = await fetch(url + path, { method, headers: { "x-request-id": "req-1" } })
      return { status: response.status, headers: response.headers, body: await response.text() }
    })
  return { ask, ended, released }
})

describe("requestDeadlines", () => {
  it.live.each([
    ["GET", "/stuck", /Try again shortly/],
    ["POST", "/stuck", /Whether it had an effect is unknown. Repeat it with the same Idempotency-Key/],
    ["GET", "/held", /Try again shortly/]
  ] as const)("ends a request without an answer: %s %s", ([method, path, message]) =>
    Effect.gen(function* () {
      const { ask, ended, released } = yield* serving()
      const { body, headers, status } = yield* ask(method, path)
      const refusal = JSON.parse(body)
      assert.deepStrictEqual([status, refusal.code, refusal.requestId], [503, "overloaded", "req-1"])
      assert.match(refusal.message, message)
      assert.isAbove(Number(headers.get("retry-after")), 0)
      assert.strictEqual(headers.get("x-request-id"), "req-1")
      if (path === "/stuck") yield* Deferred.await(ended)
      yield* Deferred.succeed(released, undefined)
    })
  )

  it.live("changes nothing for a request that is answered in time, or fails", () =>
    Effect.gen(function* () {
      const { ask } = yield* serving()
      assert.strictEqual((yield* ask("GET", "/quick/1")).status, 200)
      assert.strictEqual((yield* ask("GET", "/defect")).status, 500)
    })
  )

  it.live("does not end a request of a route without a deadline", () =>
    Effect.gen(function* () {
      const { ask } = yield* serving()
      assert.strictEqual((yield* ask("GET", "/patient")).status, 201)
    })
  )
})
