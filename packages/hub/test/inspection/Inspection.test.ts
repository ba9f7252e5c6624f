/** What `corral hub doctor` finds in databases that are as they should be, and in others. */
import { openPostgres, query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { hubDefaults } from "../../src/config/HubConfig.ts"
import { type DatabaseFinding, inspectStatements } from "../../src/inspection/Findings.ts"
import { inspectDatabase } from "../../src/inspection/Inspection.ts"
import { addPartitions } from "../../src/run/Retention.ts"
import { migratedIndexes } from "../../src/store/migrations.ts"

const emptyDatabase = async (): Promise<string> => {
  const url = await makeDatabase(await sharedServer(), { prepared: false })
  onTestFinished(() => dropDatabase(url))
  return url
}

/** As a Hub leaves it when it has started. */
const database = async (): Promise<string> => {
  const url = await makeDatabase(await sharedServer(), { prepared: true })
  onTestFinished(() => dropDatabase(url))
  const started = Effect.gen(function* () {
    const sql = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
    yield* Effect.provideService(addPartitions, SqlClient.SqlClient, sql)
  })
  await Effect.runPromise(started.pipe(Effect.scoped, Effect.provide(Reactivity.layer)))
  return url
}

const inspected = (url: string) =>
  Effect.runPromise(inspectDatabase({ ...hubDefaults, home: "/nowhere", databaseUrl: Redacted.make(url) }))

/** Messages of the findings in that state. */
const messagesIn = async (url: string, state: DatabaseFinding["state"]): Promise<ReadonlyArray<string>> =>
  (await inspected(url)).flatMap(({ findings }) =>
    findings.flatMap((finding) => (finding.state === state ? [finding.message] : []))
  )

describe("An inspection of a Hub's database", () => {
  it("finds nothing wrong with a database that a Hub has made", async () => {
    const url = await database()
    assert.deepStrictEqual(await messagesIn(url, "problem"), [])
    const good = (await messagesIn(url, "good")).join("\n")
    for (const expected of [
      /^PostgreSQL 18/m,
      /^The clocks of this machine and the database server differ by \d+ ms$/m,
      /^A commit takes [\d.]+ ms/m,
      /^All \d+ migrations are applied$/m,
      /^All \d+ indexes are present and valid$/m,
      /^No standby$/m,
      /^Table runs: \d+ MB, about \d+ rows$/m,
      /^Events have \d+ partitions, also for next week$/m
    ])
      assert.match(good, expected)
  })

  it("knows the indexes of the migrations", async () => {
    assert.isAbove(migratedIndexes().length, 50)
    assert.notInclude(migratedIndexes(), "devices_by_lease")
  })

  it("names what is missing from the schema", async () => {
    const url = await database()
    await query(url, "DROP INDEX runs_of_session")
    assert.deepStrictEqual(await messagesIn(url, "problem"), ["Indexes are missing: runs_of_session."])
    assert.match((await messagesIn(url, "good")).join("\n"), /^A commit takes [^]*^Table runs: /m)
    await query(url, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'tasks_waiting'::regclass")
    await query(url, "CREATE INDEX runs_of_session ON runs (session_id)")
    assert.deepStrictEqual(await messagesIn(url, "problem"), ["Indexes are not valid: tasks_waiting."])
    await query(url, "DELETE FROM corral_migrations WHERE name = 'partitions'")
    assert.deepStrictEqual(await messagesIn(url, "problem"), [
      "1 migration of this version are missing: partitions."
    ])
    await query(url, "UPDATE corral_migrations SET name = 'of_later' WHERE name = 'growing_tables'")
    assert.match((await messagesIn(url, "problem")).join(), /^The database is of a later version/)
  })

  it("names weeks without a partition", async () => {
    const url = await database()
    await query(url, "ALTER TABLE run_events RENAME TO run_events_other")
    await query(url, "CREATE TABLE run_events (LIKE run_events_other) PARTITION BY RANGE (run_id)")
    assert.deepStrictEqual(await messagesIn(url, "problem"), [
      "Events of this week or the next one have no partition of their own."
    ])
  })

  it("says where there is no database of a Hub", async () => {
    assert.deepStrictEqual(await messagesIn(await emptyDatabase(), "problem"), [
      "No Hub has used this database yet."
    ])
    const home = mkdtempSync(join(tmpdir(), "corral-inspected-"))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const { message } = await Effect.runPromise(
      Effect.flip(inspectDatabase({ ...hubDefaults, home, databaseUrl: undefined }))
    )
    assert.strictEqual(
      message,
      "The Hub's own database does not run. It runs with the Hub: start the Hub first."
    )
    assert.deepStrictEqual(readdirSync(home), [])
  })

  it("does not wait for commits that wait for a standby", async () => {
    const { url } = await openPostgres()
    await query(url, "ALTER SYSTEM SET synchronous_standby_names = 'elsewhere'")
    await query(url, "SELECT pg_reload_conf()")
    assert.deepStrictEqual(await messagesIn(url, "problem"), [
      "No Hub has used this database yet.",
      "Every commit waits: synchronous_standby_names is set, and no synchronous standby is connected."
    ])
  })

  it("counts transactions that stay open", async () => {
    const url = await database()
    const open = Effect.gen(function* () {
      const client = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 2 })
      yield* client.withTransaction(
        Effect.gen(function* () {
          yield* client`SELECT 1`
          const other = yield* PgClient.make({ url: Redacted.make(url), maxConnections: 1 })
          const messages = (yield* inspectStatements(other, 0)).map(({ message }) => message)
          assert.include(messages, "1 transaction stayed open and idle for more than 0 s.")
        })
      )
    })
    await Effect.runPromise(open.pipe(Effect.scoped, Effect.provide(Reactivity.layer)))
  })

  it("does without the rights to see other users", async () => {
    const url = await database()
    const name = `plain_${new URL(url).pathname.slice(-6)}`
    await query(url, `CREATE ROLE ${name} LOGIN PASSWORD 'x'`)
    onTestFinished(async () => {
      await query(url, `DROP OWNED BY ${name}`)
      await query(url, `DROP ROLE ${name}`)
    })
    await query(url, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}`)
    const plain = new URL(url)
    plain.username = name
    plain.password = "x"
    assert.deepStrictEqual(await messagesIn(plain.href, "problem"), [])
  })
})
