import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { request } from "node:http"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { ServiceAddress } from "../../src/http/Answering.ts"
import { compressedJson } from "../../src/http/CompressedJson.ts"
import { serverLayer } from "./Served.ts"

const long = { items: Array.from({ length: 400 }, (_, n) => ({ id: n, title: `Session ${n} 开放时间` })) }
const json = (headers: Readonly<Record<string, string>> = {}, status = 200) =>
  Effect.succeed(HttpServerResponse.jsonUnsafe(long, { headers, status }))
const bytes = Buffer.from(JSON.stringify(long))

interface Answer {
  readonly status: number | undefined
  readonly encoding: string | undefined
  readonly vary: string | undefined
  readonly length: string | undefined
  readonly body: Buffer
}

/** A request of Node, which decompresses nothing and accepts what is named. */
const ask = (url: string, method: string, accepted: string | undefined): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers = accepted === undefined ? {} : { "accept-encoding": accepted }
    const sent = request(url, { method, headers }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("end", () =>
        resolve({
          status: response.statusCode,
          encoding: response.headers["content-encoding"],
          vary: response.headers.vary,
          length: response.headers["content-length"],
          body: Buffer.concat(parts)
        })
      )
    })
    sent.on("error", reject).end()
  })

const serving = Effect.fnUntraced(function* () {
  const routes = Layer.mergeAll(
    HttpRouter.add("GET", "/long", json()),
    HttpRouter.add("GET", "/varied", json({ vary: "origin" })),
    HttpRouter.add("POST", "/long", json()),
    HttpRouter.add("GET", "/failed", json({}, 500)),
    HttpRouter.add("GET", "/validated", json({ etag: '"one"' })),
    HttpRouter.add("GET", "/short", Effect.succeed(HttpServerResponse.jsonUnsafe({ id: 1 }))),
    HttpRouter.add("GET", "/text", Effect.succeed(HttpServerResponse.text("a".repeat(10_000)))),
    HttpRouter.add(
      "GET",
      "/stream",
      Effect.succeed(HttpServerResponse.stream(Stream.make(bytes), { contentType: "application/json" }))
    )
  )
  const context = yield* Layer.build(
    Layer.provideMerge(
      HttpRouter.serve(Layer.provide(routes, compressedJson), {
        disableListenLog: true,
        disableLogger: true
      }),
      serverLayer()
    )
  )
  const { url } = Context.get(context, ServiceAddress)
  return (method: string, path: string, accepted?: string) =>
    Effect.promise(() => ask(url + path, method, accepted))
})

describe("compressedJson", () => {
  it.live.each([
    ["br", "br, gzip", brotliDecompressSync],
    ["br", "gzip, deflate, br;q=0.1", brotliDecompressSync],
    ["gzip", "gzip;q=1.0, br;q=0", gunzipSync]
  ] as const)("compresses a long answer to a read with %s for %s", ([encoding, accepted, decompress]) =>
    Effect.gen(function* () {
      const send = yield* serving()
      const answer = yield* send("GET", "/long", accepted)
      assert.deepStrictEqual([answer.status, answer.encoding], [200, encoding])
      assert.strictEqual(answer.vary, "accept-encoding")
      assert.strictEqual(answer.length, String(answer.body.length))
      assert.isBelow(answer.body.length, bytes.length / 4)
      assert.isTrue(decompress(answer.body).equals(bytes))
    })
  )

  it.live.each([
    ["GET", "/long", "identity"],
    ["GET", "/long", "br;q=0"],
    ["GET", "/long", undefined],
    ["POST", "/long", "br"],
    ["GET", "/failed", "br"],
    ["GET", "/validated", "br"],
    ["GET", "/short", "br"],
    ["GET", "/text", "br"],
    ["GET", "/stream", "br"]
  ] as const)("leaves an answer as it is: %s %s for %s", ([method, path, accepted]) =>
    Effect.gen(function* () {
      const send = yield* serving()
      const { body, encoding } = yield* send(method, path, accepted)
      assert.isUndefined(encoding)
      if (path !== "/short" && path !== "/text") assert.isTrue(body.equals(bytes))
    })
  )

  it.live("adds to what an answer varies by already", () =>
    Effect.gen(function* () {
      const send = yield* serving()
      assert.strictEqual((yield* send("GET", "/varied", "gzip")).vary, "origin, accept-encoding")
      assert.strictEqual((yield* send("GET", "/long")).vary, "accept-encoding")
    })
  )
})
