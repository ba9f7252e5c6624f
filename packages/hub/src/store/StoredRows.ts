/**
 * Decoding of stored rows, in codec modules named after their table (`TaskRow`, `DeviceRow`).
 *
 * Guarantees: a decoder is compiled once per module, not per query as by `SqlSchema`. A row that does not decode is a defect, since only Hubs
 * write rows. Hot paths (pushed events, claims, leases) read plain rows instead.
 */
import { Effect, Schema } from "effect"

/** Decoder of query results: `Effect.flatMap(sql`…`, decodeRows)`. */
export const rowDecoder = <S extends Schema.ConstraintDecoder<unknown>>(row: S) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  return (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<S["Type"]>> => Effect.orDie(decode(rows))
}

/** A `timestamptz` column, as PostgreSQL's client returns it. */
export const Timestamp = Schema.Date

/** A `text` column that holds JSON. */
export const jsonColumn = <S extends Schema.Constraint>(schema: S) => Schema.fromJsonString(schema)
