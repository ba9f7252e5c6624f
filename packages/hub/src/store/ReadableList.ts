/**
 * A page of rows that belong to projects, of those projects that one person may read: by id, from a position on.
 *
 * Each readable project gives its own first rows by an index, and the first of those are the page: the cost does not grow with the depth,
 * nor with what others have. Where a condition alone leaves few rows, they are looked at instead.
 */
import type { ProjectId, UserId } from "@corral/domain/Ids"
import type { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

export interface ReadableList {
  readonly table: "approvals" | "runs" | "tasks"
  readonly columns: string
  readonly reader: UserId
  /** That project alone; whether it may be read has been found before. */
  readonly projectId?: ProjectId | undefined
  /** A condition that leaves what belongs to one thing: a session, a run. */
  readonly narrow?: Statement.Fragment | undefined
  readonly conditions: ReadonlyArray<Statement.Fragment>
  readonly order: "newest" | "oldest"
  /** The id after which the page begins. */
  readonly after: string | undefined
  readonly limit: number
}

export const readableRows = <Row extends object>(
  sql: SqlClient.SqlClient,
  { after, columns, conditions, limit, narrow, order, projectId, reader, table }: ReadableList
): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> => {
  const from = sql.literal(`SELECT ${columns} FROM ${table}`)
  const by = sql.literal(order === "newest" ? "id DESC" : "id")
  const beyond = order === "newest" ? sql`id < ${after ?? ""}` : sql`id > ${after ?? ""}`
  const all = after === undefined ? conditions : [...conditions, beyond]
  const where = (first: Statement.Fragment) => sql.and([first, ...all])
  if (projectId !== undefined) {
    const first = sql`project_id = ${projectId}`
    const inProject = narrow === undefined ? first : sql.and([first, narrow])
    return sql<Row>`${from} WHERE ${where(inProject)} ORDER BY ${by} LIMIT ${limit}`
  }
  const readable = sql`
    SELECT project_id FROM project_members WHERE user_id = ${reader}
    UNION SELECT id FROM projects WHERE visibility = 'internal'`
  return narrow === undefined
    ? sql<Row>`
        SELECT found.* FROM (${readable}) AS readable CROSS JOIN LATERAL (
          ${from} WHERE ${where(sql`project_id = readable.project_id`)} ORDER BY ${by} LIMIT ${limit}
        ) AS found ORDER BY ${by} LIMIT ${limit}`
    : sql<Row>`${from} WHERE ${where(sql.and([narrow, sql`project_id IN (${readable})`]))} ORDER BY ${by} LIMIT ${limit}`
}
