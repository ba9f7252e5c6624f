/**
 * Queries whose rows are decoded by the codec of their table, such as `FollowRow`.
 *
 * Guarantees: a codec is compiled once per query, when the layer is built. A row that does not decode is a defect, since only Gateways write
 * rows.
 */
import { Effect, Option, type Schema } from "effect"
import { type SqlError, SqlSchema } from "effect/sql"

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
