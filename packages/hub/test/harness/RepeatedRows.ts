/** Copies of a row of the Hub's store, for tests that need many rows like one that the Hub has written. */
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Executes a statement in the Hub's store. */
export const execute = (hub: HubProcess, text: string) =>
  hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe<Record<string, unknown>>(text)))

/** The id of the nth copy. */
export const copyOf = (id: string, n: number): string => id.slice(0, -4) + String(n).padStart(4, "0")

/**
 * Adds the copies 1 to `count` of the rows for which `where` holds. `columns` are those that differ: `true` for the number of the copy as the end of
 * an id, otherwise an expression.
 */
export const repeatRows = async (
  hub: HubProcess,
  table: string,
  where: string,
  count: number,
  columns: Readonly<Record<string, string | true>>
): Promise<void> => {
  const names = (
    await execute(
      hub,
      `SELECT column_name AS name FROM information_schema.columns
        WHERE table_name = '${table}' AND table_schema = current_schema() AND is_generated = 'NEVER' AND is_identity = 'NO'`
    )
  ).map(({ name }) => String(name))
  const values = names.map((name) => {
    const value = columns[name]
    return value === true ? `left(source.${name}, -4) || lpad(n::text, 4, '0')` : (value ?? `source.${name}`)
  })
  await execute(
    hub,
    `INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")}
      FROM (SELECT * FROM ${table} WHERE ${where}) AS source, generate_series(1, ${count}) AS n`
  )
}
