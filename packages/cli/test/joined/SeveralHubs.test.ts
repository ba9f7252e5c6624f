/** Several Hubs on one PostgreSQL: each serves all users, and a device is reached through the Hub that holds its link. */
import { assert, describe, it } from "@effect/vitest"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import { HubClient } from "@corral/testing/hub/HubClient"
import { query } from "@corral/testing/postgres/PostgresServer"
import { StreamReader } from "@corral/testing/hub/StreamReader"
import { openJoined } from "@corral/testing/stack/Joined"
import { UncontendedTime } from "@corral/testing/time/Until"

describe("three Hubs on one PostgreSQL", () => {
  it("continue when the Hub that holds the device is killed", async () => {
    const joined = await openJoined()
    const { databaseUrl = "" } = joined.hub
    await joined.addHub()
    await joined.addHub()
    const clients = joined.hubs.map(({ url }) => new HubClient(url, joined.owner.token, joined.owner.userId))
    const [first, second, third] = clients
    assert(first !== undefined && second !== undefined && third !== undefined)

    // The Edge was there before the others came: the first Hub holds its link.
    const { runId } = await joined.task(
      { text: "/say one\n/write a.txt x\n/stream 2000 200 20\n/write b.txt y" },
      second
    )
    const pending = async (client: HubClient): Promise<HubApproval> => {
      await joined.runWith(runId, ({ pendingApprovals }) => pendingApprovals.length > 0, client)
      const { body } = await client.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
        "GET",
        `/client/runs/${runId}/approvals`
      )
      const found = body.items.find(({ state }) => state === "pending")
      assert.isDefined(found)
      return found
    }
    const reader = await StreamReader.open(third, `runId=${runId}`)
    const requested = await pending(third)
    const decided = await third.ask("POST", `/client/approvals/${requested.id}/decide`, {
      body: { decision: "allow" }
    })
    assert.strictEqual(decided.status, 200, decided.text)
    const [{ generation } = {}] = await query(databaseUrl, "SELECT generation::int FROM devices")

    await reader.count(300)
    await joined.hub.end("SIGKILL")
    const time = new UncontendedTime()
    joined.front.ports = joined.hubs.slice(1).map(({ url }) => Number(new URL(url).port))
    const { runId: next } = await joined.task({ text: "/say quick", onOffline: "queue" }, second)
    await joined.runWith(next, ({ state }) => state === "completed", third)
    assert.isBelow(time.millis, 10_000)

    const last = await pending(second)
    const both = await Promise.all(
      [second, third].map((client) =>
        client.ask("POST", `/client/approvals/${last.id}/decide`, { body: { decision: "allow" } })
      )
    )
    assert.deepStrictEqual(
      both.map(({ status }) => status),
      [200, 200]
    )
    assert.deepStrictEqual(await reader.closed(60_000), { code: 1000, reason: "the run has ended" })
    assert.deepStrictEqual(reader.events, await joined.edge.client.log(runId))
    const [{ generation: now } = {}] = await query(databaseUrl, "SELECT generation::int FROM devices")
    assert.isAbove(Number(now), Number(generation))
  })
})
