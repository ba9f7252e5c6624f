/**
 * Rows for every table of a schema, so that plans are those of a database that has been in use for long.
 *
 * Guarantees: many different values per column, few rows in a state that ends, and statistics. Does not: keep references between tables.
 */
import type { Client } from "pg"

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly position: number
  readonly required: boolean
}

/** Columns of which nearly all rows have the same value. */
const STATES: Readonly<Record<string, string>> = {
  state: "CASE WHEN i % 500 = 0 THEN 'queued' ELSE 'completed' END",
  delivery: "CASE WHEN i % 500 = 0 THEN 'pending' ELSE 'delivered' END",
  outcome: "CASE WHEN i % 500 = 0 THEN NULL ELSE 'done' END",
  visibility: "CASE WHEN i % 50 = 0 THEN 'internal' ELSE 'private' END",
  role: "CASE WHEN i % 5 = 0 THEN 'owner' ELSE 'editor' END",
  agent_instance_id: "NULL",
  head: "CASE WHEN i % 500 = 0 THEN i END",
  linked: "i % 100 = 0",
  is_sent: "i % 500 <> 0",
  released_at: "CASE WHEN i % 500 = 0 THEN now() END"
}

const valueOf = ({ name, position, required, table, type }: Column): string => {
  // Thousands of records in each chain, so that a sort of a chain is one of more than a page.
  if (name === "chain") return `'chain_' || i % ${table === "audit" ? 20 : 50_000}`
  // Of some years.
  if (name === "day") return `to_char(now() - i % 1000 * interval '1 day', 'YYYY-MM-DD')`
  const state = STATES[name]
  if (state !== undefined && !(required && state.includes("NULL"))) return state
  // Of the past, as partitions expect it.
  if (name === "run_id" || (table === "runs" && name === "id")) return `'run_0' || lpad(i::text, 25, '0')`
  if (name === "id") return `'${table}_' || i`
  const many = `i % ${20_000 + position * 37}`
  if (type === "boolean") return "i % 2 = 0"
  if (type.endsWith("[]")) return `ARRAY[${many}]::${type}`
  if (type === "bytea") return `decode(md5('${name}' || i), 'hex')`
  // Within minutes: what is old or expired has been deleted.
  if (type.startsWith("timestamp"))
    return `now() ${/expires|until/.test(name) ? "+" : "-"} i * interval '5 milliseconds'`
  if (/^(?:integer|bigint|smallint|double|numeric)/.test(type)) return many
  if (type.startsWith("json")) return "'{}'"
  return `'${name}_' || ${many}`
}

/** Fills the tables of the schema but `except`, and collects statistics. The connection needs the rights of a superuser. */
export const fillTables = async (
  client: Client,
  schema: string,
  rows: number,
  except: ReadonlySet<string>
): Promise<void> => {
  const { rows: columns } = await client.query<Column>(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type, a.attnum::int AS position,
        a.attnotnull AS required
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = ''`,
    [schema]
  )
  // Without triggers and references.
  await client.query("SET session_replication_role = replica")
  for (const [table, ofTable] of Map.groupBy(columns, (column) => column.table)) {
    if (except.has(table)) continue
    await client.query(
      `INSERT INTO ${schema}.${table} (${ofTable.map(({ name }) => `"${name}"`).join(", ")})
        SELECT ${ofTable.map(valueOf).join(", ")} FROM generate_series(1, ${rows}) i ON CONFLICT DO NOTHING`
    )
  }
  await client.query("SET session_replication_role = DEFAULT")
  await client.query("VACUUM ANALYZE")
}
