/** Work that several Hubs share. */
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { doSharedWork, takeSharedWork } from "../../src/store/SharedWork.ts"

describe("Work that Hubs share", () => {
  const hub = new HubInProcess()
  beforeAll(async () => {
    await hub.start()
    // The Hub takes its work beside its start, and would take what a test has made due.
    await until(
      async () => ((await names()).length === works.length ? true : undefined),
      "the Hub's first pass of each work"
    )
  })
  afterAll(() => hub.remove())

  const works = ["candidates", "commands", "idempotency", "limits", "uploads"]
  const sql = <A>(act: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError.SqlError>) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, act))
  const names = async () => {
    const rows = await sql(
      (sql) => sql<{ readonly name: string }>`SELECT name FROM shared_work ORDER BY name`
    )
    return rows.map(({ name }) => name)
  }
  const take = () => sql((sql) => takeSharedWork(sql, "uploads", "1 hour"))
  const makeDue = () => sql((sql) => sql`UPDATE shared_work SET due_at = now() - interval '1 second'`)

  it("is taken by one of those that ask at once, and again when it is due", async () => {
    for (let round = 0; round < 3; round++) {
      await makeDue()
      const taken = await Promise.all(Array.from({ length: 8 }, take))
      assert.lengthOf(
        taken.filter((isTaken) => isTaken),
        1
      )
      assert.isFalse(await take())
    }
  })

  it("begins when a Hub starts", async () => {
    assert.deepStrictEqual(await names(), works)
  })

  it("is done when it is due, and failing does not end it", async () => {
    await makeDue()
    const done = Effect.gen(function* () {
      const again = yield* Deferred.make<void>()
      let times = 0
      const work = Effect.suspend(() => {
        times++
        return times === 1 ? Effect.fail("broken") : Effect.asVoid(Deferred.succeed(again, undefined))
      })
      yield* doSharedWork("uploads", "20 millis", work)
      yield* Deferred.await(again)
      return times
    })
    assert.isAtLeast(await hub.people.act(Effect.scoped(done)), 2)
  })
})
