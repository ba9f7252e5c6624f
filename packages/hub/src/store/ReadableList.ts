/**
 * A page of rows that belong to projects, of those projects that one person may read: by id, from a position on.
 *
 * Each readable project gives its own first rows by an index, and the first of those are the page: the cost does not grow with the depth,
 * nor with what others have.
 */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import type { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

export interface ReadableList {
  /** Has an index of `project_id`, each condition and `id`. */
  readonly table: "approvals" | "runs" | "tasks"
  readonly columns: string
  readonly reader: UserId
  /** That project alone; whether it may be read has been found before. */
  readonly projectId?: ProjectId | undefined
  readonly conditions: ReadonlyArray<Statement.Fragment>
  readonly order: "newest" | "oldest"
  /** The id after which the page begins. */
  readonly after: string | undefined
  readonly limit: number
}

export const readableRows = <Row extends object>(
  sql: SqlClient.SqlClient,
  { after, columns, conditions, limit, order, projectId, reader, table }: ReadableList
): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> => {
  const by = sql.literal(order === "newest" ? "id DESC" : "id")
  const beyond = after === undefined ? [] : [order === "newest" ? sql`id < ${after}` : sql`id > ${after}`]
  const rowsOf = (project: Statement.Fragment) => sql<Row>`
    SELECT ${sql.literal(columns)} FROM ${sql.literal(table)}
    WHERE ${sql.and([sql`project_id = ${project}`, ...conditions, ...beyond])} ORDER BY ${by} LIMIT ${limit}`
  if (projectId !== undefined) return rowsOf(sql`${projectId}`)
  return sql<Row>`
    SELECT found.* FROM (
      SELECT project_id FROM project_members WHERE user_id = ${reader}
      UNION SELECT id FROM projects WHERE visibility = 'internal'
    ) AS readable CROSS JOIN LATERAL (${rowsOf(sql`readable.project_id`)}) AS found
    ORDER BY ${by} LIMIT ${limit}`
}
