/** A row that another program holds: requests that need it are refused within seconds, and all others are answered. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Client } from "pg"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

/** More than the connections of a Hub. */
const REQUESTS = 30

describe("A locked row", { timeout: 120_000 }, () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("refuses messages to its session only, and accepts them when the lock ends", async () => {
    const world = await worldOf(hub)
    await TalkingEdge.link(hub.url, world)
    const [locked, other] = [await Talk.open(world), await Talk.open(world)]
    const holder = new Client({ connectionString: hub.databaseUrl })
    await holder.connect()
    await holder.query("BEGIN")
    await holder.query("SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE", [locked.sessionId])
    const refused = Promise.all(Array.from({ length: REQUESTS }, (_, index) => locked.trySend(`${index}`)))
    assert.strictEqual((await other.client.ask("GET", "/client/auth/me")).status, 200)
    assert.strictEqual((await other.send("work")).delivery?.state, "pending")
    for (const answer of await refused) {
      assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "overloaded"], answer.text)
      assert.isAbove(Number(answer.headers.get("retry-after")), 0)
    }
    await holder.query("ROLLBACK")
    await holder.end()
    assert.strictEqual((await locked.trySend("again")).status, 201)
  })
})
