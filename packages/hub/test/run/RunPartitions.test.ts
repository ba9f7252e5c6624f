import type { EventPage } from "@corral/domain/edge-api/Runs"
import { encodeUlid } from "@corral/domain/identity/Ids"
import type { ProjectId, RunId } from "@corral/domain/identity/Ids"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  type Mirror,
  createdRun,
  createRun,
  messageDelta,
  runCompleted,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { dropPartitionsEndedBefore, addPartitions, runPartitions } from "../../src/run/Retention.ts"
import { RunLog } from "../../src/run/RunLog.ts"
import { partitionsMigration } from "../../src/store/migrations/Release03.ts"

const DAY_MS = 86_400_000
const runIdAt = (at: number) => `run_${encodeUlid(at, randomBytes(10))}` as RunId

describe("RunPartitions", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    await hub.people.act(addPartitions)
  })
  afterAll(() => hub.remove())

  const sql = <A>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError.SqlError>) =>
    hub.people.act(Effect.orDie(Effect.flatMap(SqlClient.SqlClient, use)))
  const partitions = () => sql(runPartitions)
  const partitionOf = async (id: RunId) => {
    const [row] = await sql(
      (client) => client`SELECT tableoid::regclass::text AS name FROM run_events WHERE run_id = ${id} LIMIT 1`
    )
    return String(row?.["name"])
  }
  /** A run with that id whose log ends with `events`. */
  const runAt = async (at: number, ...events: Parameters<Mirror["append"]>[2][]) => {
    const id = runIdAt(at)
    await hub.people.act(
      Effect.flatMap(RunLog, (log) =>
        log.open({ id, projectId: project, targetId: mirror.targetId, create: createRun, taskId: undefined })
      )
    )
    await mirror.append(id, 1, createdRun, runStarted, ...events)
    return id
  }
  const stateOf = async (id: RunId, after: number) => {
    const page = await ada.ask<EventPage>("GET", `/client/runs/${id}/events?after=${after}`)
    return page.status === 200 ? page.body.items.length : codeOf(page)
  }

  it("are weeks without gaps, added once by several Hubs", async () => {
    await Promise.all([hub.people.act(addPartitions), hub.people.act(addPartitions)])
    const found = (await partitions()).toSorted((a, b) => (a.to < b.to ? -1 : 1))
    assert.strictEqual(found.length, 5)
    assert.deepStrictEqual(
      found.map(({ from }) => from),
      [null, ...found.slice(0, -1).map(({ to }) => to)]
    )
  })

  it("have the events of runs that were created in their week, and of no other", async () => {
    const [now, later] = [await runAt(Date.now()), await runAt(Date.now() + 10 * DAY_MS)]
    assert.strictEqual(await partitionOf(now), "run_events_before")
    assert.match(await partitionOf(later), /^run_events_\d{4}_\d\d_\d\d$/)
    const [far, past] = [await runAt(Date.now() + 400 * DAY_MS), await runAt(Date.now() - 900 * DAY_MS)]
    assert.strictEqual(await partitionOf(far), "run_events_default")
    assert.strictEqual(await partitionOf(past), "run_events_before")
    for (const id of [now, later, far, past]) assert.strictEqual(await stateOf(id, 0), 2)
  })

  it("refuse events twice", async () => {
    const id = await runAt(Date.now() + 10 * DAY_MS)
    const again = sql(
      (client) => client`INSERT INTO run_events SELECT * FROM run_events WHERE run_id = ${id}`
    )
    await again.then(
      () => assert.fail("stored twice"),
      (error: unknown) => assert.match(String(error), /duplicate|unique|SqlError/i)
    )
  })

  it("are dropped when their runs have ended, but for the last event of each", async () => {
    const week = Date.now() + 18 * DAY_MS
    const ended = [await runAt(week, messageDelta("a"), runCompleted), await runAt(week, runCompleted)]
    const [first, second] = ended
    assert.isDefined(first)
    assert.isDefined(second)
    const name = await partitionOf(first)
    const running = await runAt(week)
    const drop = () => hub.people.act(dropPartitionsEndedBefore(new Date(Date.now() + 60 * DAY_MS)))
    await drop()
    assert.strictEqual(await stateOf(first, 0), 4, "a run of the week is live")
    await mirror.append(running, 3, messageDelta("b"), runCompleted)
    const before = await partitions()
    assert.isTrue((await drop()) >= 3)
    assert.deepStrictEqual(await partitions(), before)
    assert.strictEqual(await partitionOf(first), name)
    for (const [id, last] of [
      [first, 4],
      [second, 3],
      [running, 4]
    ] as const) {
      assert.strictEqual(await stateOf(id, 0), "conflict")
      assert.strictEqual(await stateOf(id, last - 1), 1)
      assert.strictEqual(await stateOf(id, last), 0)
    }
    assert.strictEqual(await drop(), 0)
    const next = await runAt(week)
    assert.strictEqual(await partitionOf(next), name)
    await sql((client) => client`DELETE FROM projects WHERE id = ${project}`)
    const [left] = await sql((client) => client`SELECT count(*)::int AS count FROM run_events`)
    assert.deepStrictEqual(left, { count: 0 })
  })
})

describe("The migration to partitions", () => {
  it("keeps every event of a filled table, in the partition of its run", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: false })
    const client = new Client({ connectionString: url })
    await client.connect()
    try {
      await client.query("CREATE TABLE runs (id text PRIMARY KEY)")
      await client.query(`CREATE TABLE run_events (run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        first_seq integer NOT NULL, last_seq integer NOT NULL, size integer NOT NULL, terminal boolean NOT NULL,
        lines text NOT NULL, PRIMARY KEY (run_id, last_seq))`)
      const days = [-900, -30, 0, 300]
      for (const day of days)
        await client.query("INSERT INTO runs VALUES ($1)", [runIdAt(Date.now() + day * DAY_MS)])
      await client.query(
        "INSERT INTO run_events SELECT id, s, s, 1, s = 1000, 'x' FROM runs CROSS JOIN generate_series(1, 1000) s"
      )
      await client.query("BEGIN")
      for (const statement of partitionsMigration) await client.query(statement)
      await client.query("COMMIT")
      const { rows } = await client.query(
        "SELECT tableoid::regclass::text AS name, count(*)::int AS count FROM run_events GROUP BY 1 ORDER BY 1"
      )
      assert.deepStrictEqual<unknown>(rows, [
        { name: "run_events_before", count: 3_000 },
        { name: "run_events_default", count: 1_000 }
      ])
    } finally {
      await client.end()
      await dropDatabase(url)
    }
  })
})
