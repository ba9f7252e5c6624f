/** 2,000 events at once, half of them twice, while the store stands still for 2 seconds. */
import { assert, describe, it } from "@effect/vitest"
import { Client } from "pg"
import { startPostgres } from "../../../hub/test/harness/PostgresServer.ts"
import { until } from "../../../service/test/harness/Until.ts"
import { pushedClick, pushedMessage, type Sent } from "../harness/FakeFeishu.ts"
import { CARDS, EVENTS, GatewayProcess } from "../harness/GatewayProcess.ts"

/** Keeps everyone from the inbox until `release`. */
const holdStore = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query("BEGIN")
  await client.query("LOCK TABLE corral_gateway.inbox IN ACCESS EXCLUSIVE MODE")
  return async () => {
    await client.query("ROLLBACK")
    await client.end()
  }
}

const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

describe("a burst", { timeout: 120_000 }, () => {
  it("acknowledges each within 3 s and handles each distinct event once", async () => {
    const server = await startPostgres()
    const gateway = new GatewayProcess({ server: server.url, entry: "handling" })
    try {
      await gateway.start()
      const events: ReadonlyArray<Sent> = Array.from({ length: 1_000 }, (_, i) =>
        pushedMessage(`ev_${i}`, "hello", `oc_${i % 97}`)
      )
      // As the platform does, but sooner: what is not acknowledged is sent again.
      const acknowledged = async (sent: Sent): Promise<ReadonlyArray<number>> => {
        const { millis, status } = await gateway.sendTimed(sent)
        if (status === 200) return [millis]
        assert.strictEqual(status, 503)
        await wait(1_000)
        return [millis, ...(await acknowledged(sent))]
      }
      const stalled = gateway.query(
        "BEGIN; LOCK TABLE corral_gateway.inbox IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT"
      )
      await until(
        async () =>
          (await gateway.count(
            "FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'corral_gateway.inbox'::regclass"
          )) > 0
            ? true
            : undefined,
        "the stall"
      )
      const millis = (await Promise.all([...events, ...events].map(acknowledged))).flat()
      await stalled
      assert.isBelow(Math.max(...millis), 3_000)
      await gateway.settled(1_000)
      assert.strictEqual(await gateway.count("FROM calls"), 1_000)
      assert.strictEqual(await gateway.count("FROM effects"), 1_000)
    } finally {
      await gateway.remove()
      await server.stop()
    }
  })

  it("says 503 to an event and shows an error to who clicked, while nothing can be kept", async () => {
    const server = await startPostgres()
    const gateway = new GatewayProcess({ server: server.url, entry: "handling" })
    try {
      await gateway.start()
      const release = await holdStore(gateway.databaseUrl)
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
      assert.strictEqual((await gateway.send(pushedMessage("ev_1"))).status, 200)
      assert.strictEqual((await gateway.send(pushedClick("ev_3"), CARDS)).status, 200)
      await gateway.settled(2)
      const keys = await gateway.query("SELECT key FROM calls WHERE key <> 'feishu:ev_2' ORDER BY key")
      assert.deepStrictEqual(keys, [{ key: "feishu:ev_1" }, { key: "feishu:ev_3" }])
      await server.restart()
      assert.strictEqual((await gateway.send(pushedMessage("ev_4"))).status, 200)
      await gateway.settled(3)
    } finally {
      await gateway.remove()
      await server.stop()
    }
  })
})
