/** 2,000 events at once, half of them twice, while the store stands still for 2 seconds: on a machine that does nothing else. */
import { assert, describe, it } from "@effect/vitest"
import { startPostgres } from "@corral/testing/postgres/PostgresServer"
import { GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { assertHandledOnce, burst } from "./Burst.ts"

describe("a burst", { timeout: 120_000 }, () => {
  it("acknowledges each of 2,000 within 3 s and handles each distinct event once", async () => {
    const server = await startPostgres()
    const gateway = new GatewayProcess({ server: server.url, entry: "handling" })
    try {
      await gateway.start()
      const millis = await burst(gateway, 1_000)
      console.log(`slowest acknowledgement: ${Math.round(Math.max(...millis))} ms`)
      assert.isBelow(Math.max(...millis), 3_000)
      await assertHandledOnce(gateway, 1_000)
    } finally {
      await gateway.remove()
      await server.stop()
    }
  })
})
