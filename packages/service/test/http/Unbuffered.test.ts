import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { HttpServer, HttpServerResponse } from "effect/http"
import { ServiceAddress } from "../../src/http/Answering.ts"
import { eventStreamResponse } from "../../src/stream/ServerSentEvents.ts"
import { serverLayer } from "./Served.ts"

const bytes = Stream.make(new Uint8Array([1]))

const streams: ReadonlyArray<readonly [string, HttpServerResponse.HttpServerResponse, string]> = [
  ["events", eventStreamResponse(Stream.make("data: 1\n\n")), "no-store, no-transform"],
  ["a download", HttpServerResponse.stream(bytes, { contentLength: 1 }), "no-store, no-transform"],
  [
    "a stream that may be stored",
    HttpServerResponse.stream(bytes, { headers: { "cache-control": "private, max-age=60" } }),
    "private, max-age=60, no-transform"
  ]
]

describe("Responses of a service's server", () => {
  const headersOf = Effect.fnUntraced(function* (response: HttpServerResponse.HttpServerResponse) {
    const context = yield* Layer.build(serverLayer())
    yield* Effect.provide(HttpServer.serveEffect(Effect.succeed(response)), context)
    const { url } = Context.get(context, ServiceAddress)
    return yield* Effect.promise(async () => {
      const answer = await fetch(url)
      await answer.body?.cancel()
      return answer.headers
    })
  })

  it.live.each(streams)("ask proxies neither to collect nor to change %s", ([, response, caching]) =>
    Effect.gen(function* () {
      const headers = yield* headersOf(response)
      assert.strictEqual(headers.get("x-accel-buffering"), "no")
      assert.strictEqual(headers.get("cache-control"), caching)
    })
  )

  it.live("that are complete say nothing to proxies", () =>
    Effect.gen(function* () {
      const headers = yield* headersOf(HttpServerResponse.text("done"))
      assert.isNull(headers.get("x-accel-buffering"))
      assert.strictEqual(headers.get("cache-control"), "no-store")
    })
  )
})
