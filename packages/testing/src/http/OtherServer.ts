/** An HTTP server of another program, in which services are mounted next to its own page. */
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer, request } from "node:http"
import type { Answer } from "./Contract.ts"

/** The program's own page, at `/own`. */
const ownPage = HttpRouter.add("*", "/own", HttpServerResponse.text("the other program's"))

/** Sends a request with exactly these headers, `Host` included. */
const ask = (
  port: number,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string | Buffer
): Promise<Answer<Record<string, unknown>>> =>
  new Promise((resolve, reject) => {
    // Node writes the length by itself for some methods only.
    const isMeasured = body !== undefined && headers["transfer-encoding"] === undefined
    const length = isMeasured ? { "content-length": Buffer.byteLength(body) } : {}
    const sent = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      headers: { ...length, ...headers },
      agent: false
    })
    sent.once("error", reject)
    sent.once("response", (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("error", reject)
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        const received = new Headers(
          Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
        )
        const parsed = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {}
        resolve({ status: response.statusCode ?? 0, headers: received, text, body: parsed })
      })
    })
    sent.end(body)
  })

/** Serves the routes until the scope closes. */
export const otherServer = Effect.fnUntraced(function* <A, E, R>(routes: Layer.Layer<A, E, R>) {
  const context = yield* Layer.build(
    HttpRouter.serve(Layer.merge(routes, ownPage), { disableListenLog: true, disableLogger: true }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : 0
  return {
    port,
    ask: (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>> = {},
      body?: string | Buffer
    ) => Effect.promise(() => ask(port, method, path, headers, body))
  }
})
