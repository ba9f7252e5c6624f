import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { PlannedSql } from "../../src/store/Database.ts"

describe("PlannedSql", { timeout: 60_000 }, () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("finds rows by their key even in a small table, whose plan would be kept while the table grows", async () => {
    const planOf = (sql: SqlClient.SqlClient) =>
      Effect.map(
        sql.unsafe<{ readonly "QUERY PLAN": string }>(
          "EXPLAIN SELECT name FROM users WHERE id = ANY('{a,b}')"
        ),
        (rows) => rows.map((row) => row["QUERY PLAN"]).join("\n")
      )
    const [planned, other] = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`ANALYZE users`
        return [yield* planOf(yield* PlannedSql), yield* planOf(sql)] as const
      })
    )
    assert.include(other, "Seq Scan")
    assert.include(planned, "users_pkey")
  })
})
