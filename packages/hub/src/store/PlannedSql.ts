/**
 * Client of the Hub's database for frequent statements that find every row by its key: PostgreSQL plans such a statement once per connection.
 * Planning takes longer than executing it.
 *
 * Does not take part in transactions of the other client: each statement is a separate transaction.
 */
import { Context } from "effect"
import type { SqlClient } from "effect/sql"

export class PlannedSql extends Context.Service<PlannedSql, SqlClient.SqlClient>()("corral/hub/PlannedSql") {}

/** Connections for such statements, of those that a Hub may have. */
export const plannedConnections = (maxConnections: number): number =>
  Math.max(1, Math.floor(maxConnections / 4))
