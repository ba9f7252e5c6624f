import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Effect, Queue } from "effect"
import { SqlClient } from "effect/sql"
import {
  announced,
  channels,
  HUB_APPLICATION,
  Notices,
  notify,
  watchOtherHubs
} from "../../src/store/Notices.ts"
import { Statements } from "../harness/Statements.ts"

describe("Notices", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** Notices of one kind that a follower in this process receives from now on. */
  const followed = Effect.gen(function* () {
    const received: Array<string> = []
    const { follow } = yield* Notices
    follow({
      onNotice: (kind, payload, isOwn) => kind === "task" && received.push(`${payload} ${isOwn}`),
      onMissed: () => undefined
    })
    return received
  })

  it("reach followers in the same process after the commit, once, and other Hubs after them", async () => {
    const [received, others] = await hub.people.act(
      Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const pg = yield* PgClient.PgClient
          const received = yield* followed
          const others = yield* pg.listen(channels.task)
          let during = 0
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* notify(sql, "task", "one", "two")
              during = received.length
            })
          )
          assert.deepStrictEqual([during, ...received], [0, "one true", "two true"])
          yield* notify(sql, "task", "three")
          const payloads = yield* Effect.forEach([1, 2, 3], () =>
            Effect.map(Queue.take(others), ({ payload }) => payload)
          )
          // The last own notice has come back from the database by then.
          yield* notify(sql, "task", "four")
          yield* Queue.take(others)
          return [[...received], payloads] as const
        })
      )
    )
    assert.deepStrictEqual(received, ["one true", "two true", "three true", "four true"])
    assert.deepStrictEqual([...others], ["one", "two", "three"])
  })

  it("of a rolled-back transaction are not sent", async () => {
    const received = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const received = yield* followed
        yield* Effect.exit(
          sql.withTransaction(Effect.andThen(notify(sql, "task", "lost"), Effect.fail("rolled back")))
        )
        yield* notify(sql, "task", "sent")
        return received
      })
    )
    assert.deepStrictEqual(received, ["sent true"])
  })

  it("follow a statement whose caller leaves meanwhile: it may have been committed", async () => {
    const statements = new Statements(hub)
    await statements.execute("INSERT INTO shared_work (name, due_at) VALUES ('left', now())")
    const lock = "SELECT 1 FROM shared_work WHERE name = 'left' FOR UPDATE"
    const received = await hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const received = yield* followed
        const statement = sql`UPDATE shared_work SET due_at = now() WHERE name = 'left' RETURNING name AS id`
        yield* statements.interruptDuring(lock, announced(sql, "task", statement))
        return received
      })
    )
    assert.deepStrictEqual(received, ["left true"])
  })

  it("are looked for when another Hub disappears, unless it has stopped", async () => {
    const calls = await hub.people.act(
      Effect.scoped(
        Effect.gen(function* () {
          const { config } = yield* PgClient.PgClient
          const sql = yield* SqlClient.SqlClient
          let calls = 0
          const others = yield* watchOtherHubs(sql, () => calls++)
          const connected = (name: string) =>
            Effect.scoped(
              Effect.andThen(
                PgConnection.make({ ...config, applicationName: `${HUB_APPLICATION} ${name}` }),
                others.look
              )
            )
          const untilGone = (name: string) =>
            Effect.repeat(
              Effect.map(
                sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${`${HUB_APPLICATION} ${name}`}`,
                (rows) => rows.length
              ),
              { until: (rows) => rows === 0 }
            )
          yield* connected("stopped")
          others.forget(`${HUB_APPLICATION} stopped`)
          yield* Effect.andThen(untilGone("stopped"), others.look)
          const afterStop = calls
          yield* connected("crashed")
          yield* Effect.andThen(untilGone("crashed"), others.look)
          return [afterStop, calls]
        })
      )
    )
    assert.deepStrictEqual(calls, [0, 1])
  })
})
