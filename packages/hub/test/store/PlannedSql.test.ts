import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { hubDefaults } from "../../src/config/HubConfig.ts"
import { pageOfProject } from "../../src/session/Sessions.ts"
import { PlannedSql, plannedTransaction } from "../../src/store/Database.ts"

const hub = new HubInProcess()
beforeAll(() => hub.start())
afterAll(() => hub.remove())

const planOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql.unsafe<{ readonly "QUERY PLAN": string }>("EXPLAIN SELECT name FROM users WHERE id = ANY('{a,b}')"),
    (rows) => rows.map((row) => row["QUERY PLAN"]).join("\n")
  )

describe("plannedTransaction", () => {
  it("plans for all parameters in its transaction alone, also after a failure and in a part of it", async () => {
    const seen = await hub.people.act(
      Effect.scoped(
        Effect.gen(function* () {
          const pool = yield* SqlClient.SqlClient
          yield* pool`ANALYZE users`
          const modeOf = Effect.map(
            pool<{ readonly mode: string }>`SELECT current_setting('plan_cache_mode') AS mode`,
            ([row]) => row?.mode
          )
          const state = Effect.all([modeOf, planOf(pool)])
          const planned = plannedTransaction(pool)
          const inside = yield* planned(Effect.all([state, planned(state), pool.withTransaction(state)]))
          const failure = yield* Effect.flip(planned(Effect.andThen(state, Effect.fail("refused"))))
          // Each of its connections, also that of the transactions above.
          const connections = yield* Effect.forEach(
            Array.from({ length: hubDefaults.maxConnections }),
            () => pool.withTransaction(state),
            { concurrency: "unbounded" }
          )
          return { inside, failure, connections }
        })
      )
    )
    assert.strictEqual(seen.failure, "refused")
    for (const [mode, plan] of seen.inside) {
      assert.strictEqual(mode, "force_generic_plan")
      assert.include(plan, "users_pkey")
    }
    for (const [mode, plan] of seen.connections) {
      assert.strictEqual(mode, "force_custom_plan")
      assert.include(plan, "Seq Scan")
    }
  })
})

describe("PlannedSql", () => {
  it("finds rows by their key even in a small table, whose plan would be kept while the table grows", async () => {
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
