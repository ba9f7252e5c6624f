/** What comes while the store stands still. The figure of 2,000 events is asserted in `Burst.soak.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import { startPostgres } from "@corral/testing/postgres/PostgresServer"
import { pushedClick, pushedMessage } from "@corral/testing/gateway/FakeFeishu"
import { CARDS, EVENTS, GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { assertHandledOnce, burst } from "../handling/Burst.ts"

describe("a burst", () => {
  it("handles each distinct event once", async () => {
    const gateway = new GatewayProcess({ entry: "handling" })
    try {
      await gateway.start()
      await burst(gateway, 200)
      await assertHandledOnce(gateway, 200)
    } finally {
      await gateway.remove()
    }
  })

  it("says 503 to an event and shows an error to who clicked, while nothing can be kept", async () => {
    const server = await startPostgres()
    const gateway = new GatewayProcess({ server: server.url, entry: "handling" })
    try {
      await gateway.start()
      const release = await gateway.holdInbox()
      const [event, clicked, health] = await Promise.all([
        gateway.send(pushedMessage("ev_1"), EVENTS),
        gateway.send(pushedClick("ev_2"), CARDS),
        gateway.get("/health")
      ])
      assert.deepStrictEqual([event.status, event.body["code"]], [503, "overloaded"])
      assert.strictEqual(event.headers.get("retry-after"), "1")
      assert.strictEqual(clicked.status, 200)
      assert.deepInclude(clicked.body["toast"], { type: "error" })
      assert.strictEqual(health.status, 503)
      await release()
      // The platform sends the event again; the person clicks again.
      assert.strictEqual((await gateway.deliver(pushedMessage("ev_1"))).status, 200)
      assert.strictEqual((await gateway.deliver(pushedClick("ev_3"), CARDS)).status, 200)
      await gateway.settled(2)
      const keys = await gateway.query("SELECT key FROM calls WHERE key <> 'feishu:ev_2' ORDER BY key")
      assert.deepStrictEqual(keys, [{ key: "feishu:ev_1" }, { key: "feishu:ev_3" }])
      await server.restart()
      assert.strictEqual((await gateway.deliver(pushedMessage("ev_4"))).status, 200)
      await gateway.settled(3)
    } finally {
      await gateway.remove()
      await server.stop()
    }
  })
})
