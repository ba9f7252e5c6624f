/** Times of the event stream, over a real socket: pings, and the close of a reader that takes nothing. The times are set short. */
import { assert, describe, it } from "@effect/vitest"
import { closeCodes, PING_EVERY_SECONDS, STALLED_AFTER_SECONDS } from "@corral/domain/http/StreamEnd"
import { defaultStreamTimes } from "@corral/service/stream/StreamTimes"
import { Effect } from "effect"
import { once } from "node:events"
import { WebSocket } from "ws"
import { readEdgeConfig } from "../../src/EdgeSettings.ts"
import { openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { assertDense } from "../harness/LogInvariants.ts"
import { within } from "@corral/testing/time/Until"

const PING_MS = 1_000
const STALL_MS = 3_000

describe("The event stream", () => {
  it.effect("pings every 20 s and closes a stalled reader after 30 s by default", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual([PING_EVERY_SECONDS, STALLED_AFTER_SECONDS, closeCodes.stalled], [20, 30, 1013])
      assert.deepStrictEqual(defaultStreamTimes, { pingEveryMs: 20_000, stalledAfterMs: 30_000 })
      assert.deepStrictEqual((yield* readEdgeConfig({})).streamTimes, defaultStreamTimes)
    })
  )

  it("pings at the set interval, and closes with 1013 a reader that took nothing for the set time, to continue by `after`", async () => {
    const { client, token, url } = await openEdgeInProcess({
      env: {
        CORRAL_EDGE_STREAM_PING_MS: String(PING_MS),
        CORRAL_EDGE_STREAM_STALL_MS: String(STALL_MS)
      }
    })
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
    assert.isAtLeast(performance.now() - opened, PING_MS)
    // Another run is the clock: it ends after the stall time, the Edge's next look, and the time to close.
    await client.log((await client.create("/sleep 8000")).id)
    assert.strictEqual(idle.readyState, WebSocket.OPEN, "a reader with nothing to read does not stall")
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
  })
})
