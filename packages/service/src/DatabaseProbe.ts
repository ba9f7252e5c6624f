/**
 * Whether a PostgreSQL server takes writes: with a temporary file and a durable record of its log, both without a trace in tables.
 *
 * Fails on a full disk before each statement does: a server has room in files that it has enlarged before, so small writes still work for a
 * while. Also fails on a read-only standby server.
 */
import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** Rows of a set that does not fit into 64 KB of memory: about 1 MB in a temporary file. */
const ROWS = 60_000

export const probeWrites = (sql: SqlClient.SqlClient): Effect.Effect<void, SqlError.SqlError> =>
  Effect.gen(function* () {
    yield* sql`SELECT set_config('work_mem', '64kB', true)`
    yield* sql`SELECT count(*) FROM generate_series(1, ${sql.literal(String(ROWS))})`
    yield* sql`SELECT pg_logical_emit_message(true, 'corral', 'probe')::text`
  }).pipe(sql.withTransaction, Effect.asVoid)
