/** Statements of a test in the database of a Hub, also in a transaction that stays open while the Hub's own statements wait for its locks. */
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { until } from "@corral/testing/time/Until"
import { Effect, Fiber } from "effect"
import { SqlClient, SqlError } from "effect/sql"

/** Of a cancelled statement, and of one that waited for two seconds. */
const CANCELLED: ReadonlyArray<unknown> = ["57014", "55P03"]

/**
 * Whether the Hub has cancelled a statement because no connection seemed free, or the server one that waited for long, as on a busy machine. A
 * deadlock has another code, and is found after a second.
 */
export const isCancelled = (error: unknown): boolean => {
  if (!(error instanceof SqlError.SqlError)) return false
  const { cause } = error.reason
  return typeof cause === "object" && cause !== null && "code" in cause && CANCELLED.includes(cause.code)
}

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

  /** Interrupts the effect while a statement of it waits for the locks of `text`, then releases them. Succeeds when the effect has ended. */
  interruptDuring<A, E, R>(text: string, effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> {
    return Effect.gen({ self: this }, function* () {
      const release = yield* Effect.promise(() => this.hold(text))
      const running = yield* Effect.forkDetach(effect)
      yield* Effect.promise(() => this.untilOneWaits())
      const leaving = yield* Effect.forkDetach(Fiber.interrupt(running))
      yield* Effect.promise(release)
      yield* Fiber.join(leaving)
    })
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
