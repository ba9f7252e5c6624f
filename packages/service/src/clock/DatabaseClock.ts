/**
 * The clock of the database server as the clock of a service. Several services on one database compare times that each of them has written, such as
 * the ends of leases: with this clock, they all mean the same time.
 *
 * Guarantees: the time is the server's, to a few milliseconds, regardless of this machine's clock. While the server does not answer, the time passes as
 * a monotonic clock measures it. Does not: set timers by it. A pause has the length that this machine measures.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { ClockOffset } from "./ClockOffset.ts"

const INTERVAL = "5 seconds"
/** The quickest of several samples counts at the start, when connections are being opened. */
const FIRST_SAMPLES = 3

export class DatabaseClock extends Context.Service<
  DatabaseClock,
  {
    /** This machine's clock minus the server's, in milliseconds. */
    readonly skewMs: () => number
  }
>()("corral/service/DatabaseClock") {}

const clockOf = (machine: Clock.Clock, offset: ClockOffset): Clock.Clock => {
  const millis = () => Math.round(offset.at(performance.now()) ?? machine.currentTimeMillisUnsafe())
  const nanos = () => BigInt(millis()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration)
  }
}

/** Provides `Clock` for all services above it. */
export const databaseClockLayer: Layer.Layer<DatabaseClock, SqlError.SqlError, SqlClient.SqlClient> =
  Layer.effectContext(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const machine = yield* Clock.Clock
      const offset = new ClockOffset()
      const measure = Effect.gen(function* () {
        const sentAt = performance.now()
        const [row] = yield* sql<{ readonly ms: number }>`
          SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`
        if (row !== undefined) offset.note({ sentAt, receivedAt: performance.now(), remote: row.ms })
      })
      yield* Effect.repeat(measure, { times: FIRST_SAMPLES - 1 })
      yield* measure.pipe(
        Effect.ignoreCause,
        Effect.delay(INTERVAL),
        Effect.repeat(Schedule.forever),
        Effect.forkScoped
      )
      const clock = clockOf(machine, offset)
      const skewMs = () => machine.currentTimeMillisUnsafe() - clock.currentTimeMillisUnsafe()
      return Context.make(DatabaseClock, DatabaseClock.of({ skewMs })).pipe(Context.add(Clock.Clock, clock))
    })
  )
