/** Statements of a test in the database of a Hub, also in a transaction that stays open while the Hub's own statements wait for its locks. */
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { until } from "@corral/testing/time/Until"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export class Statements {
  private readonly hub: HubProcess

  constructor(hub: HubProcess) {
    this.hub = hub
  }

  execute<A extends object = Record<string, unknown>>(text: string): Promise<ReadonlyArray<A>> {
    return this.hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<A>(text)))
  }

  /** Executes the statement in a transaction that stays open. Returns what commits it. */
  async hold(text: string): Promise<() => Promise<void>> {
    const [isHeld, isReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const transaction = this.hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe(text)
            isHeld.resolve()
            yield* Effect.promise(() => isReleased.promise)
          })
        )
      )
    )
    // A statement that fails is never held.
    await Promise.race([isHeld.promise, transaction])
    return () => {
      isReleased.resolve()
      return transaction
    }
  }

  /** Resolves once a statement in this database waits for a lock. */
  async untilOneWaits(): Promise<void> {
    await until(
      async () => {
        const [waiting] = await this.execute(
          `SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
        )
        return waiting
      },
      "a statement that waits for a lock",
      20_000
    )
  }
}
