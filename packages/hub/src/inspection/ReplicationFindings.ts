/** Standbys of the database: whether commits wait for one, and how far each is behind. */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { storedRows } from "../store/StoredRows.ts"
import { quantityOf, type DatabaseFinding, good, problem, sizeText, unknown } from "./DatabaseFinding.ts"

/** A standby that is further behind takes long to become primary. */
const LAG_LIMIT_BYTES = 64 * 1_048_576
/** Log that the server keeps for a standby that is gone. It fills the disk. */
const KEPT_LIMIT_BYTES = 1_073_741_824

const Standby = Schema.Struct({
  name: Schema.String,
  state: Schema.NullOr(Schema.String),
  sync: Schema.NullOr(Schema.String),
  behind: Schema.NullOr(Schema.Number)
})
type Standby = typeof Standby.Type

const standbyRows = storedRows("pg_stat_replication", Standby)
const synchronousRows = storedRows("pg_settings", Schema.Struct({ names: Schema.String }))
const slotRows = storedRows(
  "pg_replication_slots",
  Schema.Struct({ name: Schema.String, bytes: Schema.Number })
)

const standbyFinding = ({ behind, name, state, sync }: Standby): DatabaseFinding => {
  if (behind === null || state === null)
    return unknown(
      `Standby ${name}: its state is not visible to this user.`,
      "Grant pg_monitor to the database user of the Hub."
    )
  const message = `Standby ${name} (${sync ?? "async"}, ${state}) is ${sizeText(behind)} behind`
  return state !== "streaming" || behind > LAG_LIMIT_BYTES
    ? problem(`${message}.`, "Look at the network and the disk of that machine.")
    : good(message)
}

const synchronousFinding = (names: string, standbys: ReadonlyArray<Standby>): DatabaseFinding => {
  if (names === "")
    return standbys.length === 0
      ? good("No standby")
      : problem(
          "Commits wait for no standby: a failure of the primary loses the last changes.",
          "Set synchronous_standby_names, or synchronous_mode of Patroni."
        )
  return standbys.some(({ sync }) => sync === "sync" || sync === "quorum")
    ? good("Commits wait for a synchronous standby")
    : problem(
        "Every commit waits: synchronous_standby_names is set, and no synchronous standby is connected.",
        "Start a standby. Without one the Hubs can't write."
      )
}

export const inspectReplication = (
  sql: SqlClient.SqlClient
): Effect.Effect<ReadonlyArray<DatabaseFinding>, SqlError.SqlError> =>
  Effect.gen(function* () {
    const standbys = yield* standbyRows.all(sql`
      SELECT application_name AS name, state, sync_state AS sync,
        CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 END AS behind
      FROM pg_stat_replication ORDER BY application_name`)
    const synchronous = yield* synchronousRows.first(
      sql`SELECT current_setting('synchronous_standby_names') AS names`
    )
    const unused = yield* slotRows.all(sql`
      SELECT slot_name::text AS name, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 AS bytes
      FROM pg_replication_slots
      WHERE NOT active AND NOT pg_is_in_recovery() AND restart_lsn IS NOT NULL`)
    const large = unused.filter(({ bytes }) => bytes > KEPT_LIMIT_BYTES)
    return [
      synchronousFinding(synchronous?.names ?? "", standbys),
      ...standbys.map(standbyFinding),
      ...large.map(({ bytes, name }) =>
        problem(
          `The server keeps ${sizeText(bytes)} of its log for ${name}, which is not connected.`,
          "Start that standby, or drop its replication slot."
        )
      ),
      ...(unused.length > 0 && large.length === 0
        ? [good(`${quantityOf(unused.length, "replication slot")} without a standby`)]
        : [])
    ]
  })
