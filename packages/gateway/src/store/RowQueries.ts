/**
 * Queries whose rows are decoded by the codec of their table, such as `FollowRow`. Also the store together with the clock that dates its rows.
 *
 * Guarantees: a codec is compiled once per query, when the layer is built. A row that does not decode is a defect, since only Gateways write
 * rows.
 */
import { Clock, Effect, Option, type Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"

// The store together with the clock that dates its rows.

export interface TimedStore {
  readonly sql: SqlClient.SqlClient
  /** Now, plus a number of milliseconds. */
  readonly at: (millis?: number) => Date
}

export const timedStore = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const store: TimedStore = { sql, at: (millis = 0) => new Date(clock.currentTimeMillisUnsafe() + millis) }
  return store
})

interface RowQuery<Req extends Schema.Constraint, Res extends Schema.Constraint> {
  readonly Request: Req
  readonly Result: Res
  readonly execute: (request: Req["Encoded"]) => Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
}

type Plain = Schema.Constraint & { readonly EncodingServices: never; readonly DecodingServices: never }

/** All rows. */
export const queryRows = <Req extends Plain, Res extends Plain>(query: RowQuery<Req, Res>) => {
  const find = SqlSchema.findAll(query)
  return (request: Req["Type"]): Effect.Effect<ReadonlyArray<Res["Type"]>, SqlError.SqlError> =>
    Effect.catchTag(find(request), "SchemaError", Effect.die)
}

/** The first row, if there is one. */
export const queryRow = <Req extends Plain, Res extends Plain>(query: RowQuery<Req, Res>) => {
  const find = SqlSchema.findOneOption(query)
  return (request: Req["Type"]): Effect.Effect<Res["Type"] | undefined, SqlError.SqlError> =>
    find(request).pipe(Effect.map(Option.getOrUndefined), Effect.catchTag("SchemaError", Effect.die))
}
