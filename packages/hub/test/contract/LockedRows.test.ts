/** A row that another program holds: requests that need it are refused within seconds, and all others are answered. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Client } from "pg"
import { worldOf } from "../link/World.ts"
import { holdRows, loadOf, openBusy, serveOther } from "../harness/HeldRows.ts"

/** More than the connections of a Hub. */
const REQUESTS = 30
/** Also of a busy machine. The long test checks the time that users wait. */
const PATIENCE_MS = 20_000
/** A queue moves if each transaction has the row for less than this. On a busy machine some have it for longer. */
const STUCK_MS = 200
/** A statement waits for at most this long. On a busy machine the whole queue can take longer. */
const LOCK_TIMEOUT_MS = 2_000

describe("A locked row", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("does not use up the connections, and its requests succeed when the lock ends", async () => {
    const busy = await openBusy(hub)
    const release = await holdRows(hub, "sessions")
    const load = loadOf(busy, REQUESTS, hub)
    try {
      await serveOther(hub, await worldOf(hub), PATIENCE_MS)
    } finally {
      await release()
    }
    await load.end()
    assert.include(hub.stderr, "cancelled statements that waited for locks")
    const renamed = await busy.client.ask("PATCH", `/client/sessions/${busy.sessionId}`, {
      body: { title: "after" }
    })
    assert.strictEqual(renamed.status, 200, renamed.text)
  })

  it("refuses no request of a queue that moves, however long it is", async () => {
    const { client, sessionId } = await openBusy(hub)
    const database = new Client({ connectionString: hub.databaseUrl })
    await database.connect()
    // The trigger runs once the transaction has the row.
    await database.query(`
      CREATE TABLE turns (at timestamptz NOT NULL);
      CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO turns VALUES (clock_timestamp()); PERFORM pg_sleep(0.04); RETURN NEW; END';
      CREATE TRIGGER pause BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION pause()`)
    const answers = await Promise.all(
      Array.from({ length: REQUESTS }, (_, index) =>
        client.ask("PATCH", `/client/sessions/${sessionId}`, { body: { title: `${index}` } })
      )
    )
    await database.query("INSERT INTO turns VALUES (clock_timestamp()); DROP FUNCTION pause CASCADE")
    const { rows } = await database.query<{ readonly longest: number; readonly whole: number }>(
      `SELECT max(millis)::float8 AS longest, sum(millis)::float8 AS whole
       FROM (SELECT 1000 * extract(epoch FROM at - lag(at) OVER (ORDER BY at)) AS millis FROM turns) AS held`
    )
    await database.end()
    const refused = answers.filter(({ status }) => status !== 200).map(({ text }) => text)
    const { longest = 0, whole = 0 } = rows[0] ?? {}
    if (longest < STUCK_MS && whole < LOCK_TIMEOUT_MS) assert.deepStrictEqual(refused, [])
    // Requests behind the transactions that had the row for too long.
    else assert.isBelow(refused.length, REQUESTS, `${longest} ms of ${whole} ms`)
  })
})
