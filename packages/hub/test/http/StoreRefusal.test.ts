import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { storeRefusal } from "../../src/http/StoreRefusal.ts"
import { execute } from "../harness/RepeatedRows.ts"

describe("A transaction that PostgreSQL has ended", { timeout: 60_000 }, () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** The refusal of the next statement of a transaction, once its connection is gone. */
  const refusalAfter = (end: (pid: unknown) => Promise<unknown>, limit = "0") =>
    hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const ended = Effect.gen(function* () {
          const [row] = yield* sql<{ readonly pid: number }>`
            SELECT pg_backend_pid() AS pid, set_config('idle_in_transaction_session_timeout', ${limit}, true)`
          yield* Effect.promise(() => end(row?.pid))
          yield* sql`SELECT 1`
        })
        const exit = yield* Effect.exit(sql.withTransaction(ended))
        return Exit.isFailure(exit) ? storeRefusal(Cause.squash(exit.cause)) : undefined
      })
    )

  it("because its Hub was paused is refused as overloaded", async () => {
    const isGone = (pid: unknown) =>
      until(
        async () =>
          (await execute(hub, `SELECT 1 FROM pg_stat_activity WHERE pid = ${String(pid)}`)).length === 0 ||
          undefined,
        "the end of the connection"
      )
    assert.deepStrictEqual(await refusalAfter(isGone, "50ms"), { code: "overloaded" })
  })

  it("because an operator ended its connection is refused as overloaded", async () => {
    const terminate = (pid: unknown) => execute(hub, `SELECT pg_terminate_backend(${String(pid)}, 5000)`)
    assert.deepStrictEqual(await refusalAfter(terminate), { code: "overloaded" })
  })
})
