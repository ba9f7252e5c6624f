/**
 * Row limit of a page as a literal. With a parameter, PostgreSQL plans for a tenth of the table: it sorts instead of scanning an index, and
 * the cost of a page grows with the list.
 */
import type { SqlClient } from "effect/sql"

export const limitTo = (sql: SqlClient.SqlClient, rows: number) => sql.literal(`LIMIT ${Math.trunc(rows)}`)
