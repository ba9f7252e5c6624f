/** Stalled connections in real time. The server drops unread responses and incomplete request bodies after 30 s. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { once } from "node:events"
import type { Duplex } from "node:stream"
import { within } from "@corral/testing/time/Until"
import { receiveAll } from "./Idle.ts"
import { served } from "./Served.ts"

describe("A stalled connection", { timeout: 120_000 }, () => {
  it.live("is dropped after 30 s, for an unread response and for an incomplete request body", () =>
    Effect.gen(function* () {
      const open = new Set<Duplex>()
      const port = yield* served((request, response) => {
        open.add(request.socket)
        request.socket.once("close", () => open.delete(request.socket))
        if (request.method === "POST") return void request.on("end", () => response.end()).resume()
        const push = () => {
          while (response.write(Buffer.alloc(65_536)));
        }
        response.on("drain", push)
        push()
      })
      const startedAt = performance.now()
      const reader = connect(port, "127.0.0.1").on("error", () => undefined)
      reader.pause()
      reader.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
      const late = receiveAll(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", 60)
      yield* Effect.promise(() => late.then(({ status }) => assert.strictEqual(status, 408)))
      assert.isAtLeast(performance.now() - startedAt, 29_000)
      for (const socket of open) yield* Effect.promise(() => within(once(socket, "close"), 60_000, "its end"))
      assert.strictEqual(open.size, 0)
      reader.destroy()
    })
  )
})
