/** What the event stream does by the clock, over a real socket and in real time: pings, and the end of a reader that takes nothing. */
import { assert, describe, it } from "@effect/vitest"
import { closeCodes, PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/EventStream"
import { once } from "node:events"
import { WebSocket } from "ws"
import { openEdge } from "@corral/testing/edge/EdgeProcess"
import { assertDense } from "../harness/LogInvariants.ts"
import { within } from "@corral/testing/time/Within"

describe("The event stream", () => {
  it(
    "pings every 20 s, and closes with 1013 who took nothing for 30 s, to go on by `after`",
    { timeout: 120_000 },
    async () => {
      assert.deepStrictEqual([PING_EVERY_SECONDS, STALLED_AFTER_SECONDS, closeCodes.stalled], [20, 30, 1013])
      const { client, token, url } = await openEdge()
      // More than the sockets' buffers hold: 24 MB.
      const { id } = await client.create("/stream 6000 0 4000")
      const stalled = await client.follow({ runId: id, light: true })
      await stalled.count(10)
      stalled.pause()
      const opened = performance.now()
      const idle = new WebSocket(`${url.replace("http", "ws")}/v1/events`, {
        headers: { authorization: `Bearer ${token}` }
      })
      const other = await client.follow({ runId: id, light: true })
      assert.strictEqual((await other.ended).code, 1000, "the run does not wait for it")
      await within(once(idle, "ping"), 30_000, "a ping")
      assert.isAtLeast(performance.now() - opened, 20_000)
      // Another run is the clock: when it is over, the 30 s are, and what is left until the Edge looks.
      await client.log((await client.create("/sleep 17000")).id)
      assert.strictEqual(idle.readyState, WebSocket.OPEN, "who has nothing to read does not stall")
      idle.terminate()
      stalled.resume()
      // 1013 for a reader that reads again while it is being closed, which is 3 s.
      assert.include([1013, 1006], (await stalled.ended).code)
      const { lastSeq } = await client.run(id)
      assert.isBelow(stalled.events.length, lastSeq)
      assertDense(stalled.events)
      const rest = await client.follow({ runId: id, after: stalled.events.length, light: true })
      assert.strictEqual((await rest.ended).code, 1000)
      assertDense(rest.events, stalled.events.length)
      assert.strictEqual(stalled.events.length + rest.events.length, lastSeq)
    }
  )
})
