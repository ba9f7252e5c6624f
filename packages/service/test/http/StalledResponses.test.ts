import { STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { setImmediate } from "node:timers/promises"
import { vi } from "vitest"
import { dropStalledResponses, queuedOf } from "../../src/http/StalledResponses.ts"

const BODY = Buffer.alloc(64 * 1_048_576)
const STALLED_MS = STALLED_AFTER_SECONDS * 1_000

/** Server of one long response, whose clock and timer the test turns. */
const watchedServer = Effect.acquireRelease(
  Effect.promise(async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    const time = { now: 0 }
    const server = createServer((_, response) => void response.end(BODY))
    dropStalledResponses(server, () => time.now)
    await once(server.listen(0, "127.0.0.1"), "listening")
    const look = (millis: number) => {
      time.now += millis
      vi.advanceTimersByTime(1_000)
    }
    return { server, look }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
      vi.useRealTimers()
    })
)

/** A reader that takes bytes only when it is resumed, and the server's end of its connection. */
const pausedReader = async (
  server: Server
): Promise<{ readonly reader: Socket; readonly served: Socket }> => {
  const connected = once(server, "connection")
  const { port } = server.address() as AddressInfo
  const reader = connect(port, "127.0.0.1").on("error", () => undefined)
  reader.pause()
  const responding = once(server, "request")
  reader.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  const [served] = (await connected) as [Socket]
  await responding
  while (queuedOf(served) === 0 || queuedOf(served) === BODY.length) await setImmediate()
  return { reader, served }
}

/** Reads until the server could send more. */
const readSome = async (reader: Socket, served: Socket): Promise<void> => {
  const before = queuedOf(served)
  reader.resume()
  while (queuedOf(served) === before) await setImmediate()
  reader.pause()
}

describe("dropStalledResponses", () => {
  it.live("keeps a slow reader, and destroys its connection after 30 s without progress", () =>
    Effect.gen(function* () {
      const { look, server } = yield* watchedServer
      const { reader, served } = yield* Effect.promise(() => pausedReader(server))
      look(0)
      for (let round = 0; round < 3; round++) {
        yield* Effect.promise(() => readSome(reader, served))
        look(STALLED_MS - 1_000)
        assert.isFalse(served.destroyed, `after progress in round ${round}`)
      }
      look(0)
      look(STALLED_MS - 1)
      assert.isFalse(served.destroyed)
      look(1)
      assert.isTrue(served.destroyed)
      reader.destroy()
    })
  )
})
