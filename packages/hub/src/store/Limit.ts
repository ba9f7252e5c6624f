/**
 * How many rows a page takes, as part of the statement. As a parameter the plan that PostgreSQL keeps for any value of it expects a tenth of
 * the table: it sorts where it could walk an index, and a page costs as much as the list is long.
 */
import type { SqlClient } from "effect/sql"

export const limitTo = (sql: SqlClient.SqlClient, rows: number) => sql.literal(`LIMIT ${Math.trunc(rows)}`)
