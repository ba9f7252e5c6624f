import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import { served } from "./Served.ts"

/** Writes of responses to their sockets, after each other. */
const writesOf = (answer: (response: ServerResponse) => void) =>
  Effect.gen(function* () {
    const writes: Array<string> = []
    const port = yield* served((request, response) => {
      const { socket } = response
      const write = socket?.write.bind(socket)
      if (socket !== null && write !== undefined)
        socket.write = ((chunk: string | Uint8Array, ...rest: ReadonlyArray<never>) => {
          writes.push(String(chunk))
          return write(chunk, ...rest)
        }) as typeof socket.write
      request.on("end", () => answer(response)).resume()
    })
    const text = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/`)).text())
    return { text, writes }
  })

describe("OneWriteResponse", () => {
  it.live("writes headers and text at once, as Effect ends a response", () =>
    Effect.gen(function* () {
      const { text, writes } = yield* writesOf((response) => {
        response.strictContentLength = true
        response.writeHead(200, { "Content-Length": "5" })
        response.end("whole")
      })
      assert.strictEqual(text, "whole")
      assert.strictEqual(writes.length, 1)
      assert.match(writes[0] ?? "", /^HTTP\/1\.1 200 OK[^]*whole$/)
    })
  )
})
