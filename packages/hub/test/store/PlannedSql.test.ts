import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { pageOfProject } from "../../src/session/Sessions.ts"
import { PlannedSql } from "../../src/store/Database.ts"

describe("PlannedSql", () => {
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

  it("reads no more of a project than a page of its sessions, with one plan for projects of each size", async () => {
    const { userId } = await hub.signedIn("ada")
    const plans = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe(`
          INSERT INTO projects (id, name, created_at, updated_at, visibility)
          SELECT 'prj_' || lpad(n::text, 26, '0'), 'p' || n, now(), now(), 'private' FROM generate_series(1, 500) n`)
        yield* sql.unsafe(`
          INSERT INTO sessions (id, project_id, title, state, created_by, created_at, updated_at)
          SELECT 'ses_' || lpad(n::text, 26, '0'), 'prj_' || lpad(greatest(1, n - 4500)::text, 26, '0'), 'Session', 'active',
            '${userId}', now(), now() - n * interval '1 second' FROM generate_series(1, 5000) n`)
        yield* sql`ANALYZE sessions`
        const planned = yield* PlannedSql
        const after = { at: "2026-01-01T00:00:00.000Z", id: "ses_0" }
        return yield* Effect.forEach([undefined, "active" as const], (state) =>
          Effect.forEach([undefined, after], (after) =>
            Effect.gen(function* () {
              const page = { state, after, limit: 50 }
              const [text, values] = pageOfProject(
                planned,
                { principal: "usr", subject: "prj" },
                page
              ).compile()
              yield* planned.unsafe(`PREPARE page AS ${text}`)
              const literals = values.map((value) =>
                typeof value === "number"
                  ? value
                  : `'${value instanceof Date ? value.toISOString() : String(value)}'`
              )
              const rows = yield* planned.unsafe<{ readonly "QUERY PLAN": string }>(
                `EXPLAIN EXECUTE page (${literals.join(", ")})`
              )
              yield* planned.unsafe("DEALLOCATE page")
              return rows.map((row) => row["QUERY PLAN"]).join("\n")
            })
          )
        )
      })
    )
    for (const plan of plans.flat()) {
      assert.match(plan, /Index Scan using sessions_by_(?:change|state) on sessions/, plan)
      assert.notMatch(plan, /Sort Key: sessions\./, plan)
    }
  })
})
