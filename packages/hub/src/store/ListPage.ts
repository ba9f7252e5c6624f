/**
 * Pages of a list: the row limit, a position, and the rows of projects that one user may read.
 *
 * The limit is a literal. With a parameter, PostgreSQL plans for a tenth of the table: it sorts instead of scanning an index, and the
 * cost of a page grows with the list. A position is by time, newest first, and by id for equal times.
 *
 * Rows that belong to projects are ordered by id. Each readable project contributes its first rows by an index, and the first of those
 * are the page. The cost depends neither on the depth of the page nor on rows of other projects.
 */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import type { Effect } from "effect"
import type { SqlClient, SqlError, Statement } from "effect/sql"

export const limitTo = (sql: SqlClient.SqlClient, rows: number) => sql.literal(`LIMIT ${Math.trunc(rows)}`)

export interface Position {
  /** ISO 8601, to the millisecond, as every time here. */
  readonly at: string
  readonly id: string
}

/** Text of a position, for a cursor. */
export const encodePosition = (at: string, id: string): string => `${at} ${id}`

/**
 * Decodes the text of `encodePosition`. Any other text, such as a forged cursor's, gives a position at the end of the list.
 */
export const decodePosition = (text: string): Position => {
  const [, at = "", id = ""] = /^(\S+) (\w+)$/.exec(text) ?? []
  return Number.isNaN(Date.parse(at)) ? { at: new Date(0).toISOString(), id: "" } : { at, id }
}

/** Decodes a position that is a number from 1 up. Any other text gives `end`. */
export const decodeSeq = (text: string, end: number): number => (/^\d{1,15}$/.test(text) ? Number(text) : end)

export interface ReadableList {
  /** Needs an index on `project_id`, each condition and `id`. */
  readonly table: "approvals" | "change_sets" | "inputs" | "runs" | "tasks"
  readonly columns: string
  readonly reader: UserId
  /** Only this project. The caller has checked that it may be read. */
  readonly projectId?: ProjectId | undefined
  readonly conditions: ReadonlyArray<Statement.Fragment>
  readonly order: "newest" | "oldest"
  /** The id after which the page begins. */
  readonly after: string | undefined
  readonly limit: number
}

export const readableRows = (
  sql: SqlClient.SqlClient,
  { after, columns, conditions, limit, order, projectId, reader, table }: ReadableList
): Effect.Effect<ReadonlyArray<object>, SqlError.SqlError> => {
  const by = sql.literal(order === "newest" ? "id DESC" : "id")
  const beyond = after === undefined ? [] : [order === "newest" ? sql`id < ${after}` : sql`id > ${after}`]
  const rowsOf = (project: Statement.Fragment) => sql`
    SELECT ${sql.literal(columns)} FROM ${sql.literal(table)}
    WHERE ${sql.and([sql`project_id = ${project}`, ...conditions, ...beyond])} ORDER BY ${by} LIMIT ${limit}`
  if (projectId !== undefined) return rowsOf(sql`${projectId}`)
  return sql`
    SELECT found.* FROM (
      SELECT project_id FROM project_members WHERE user_id = ${reader}
      UNION SELECT id FROM projects WHERE visibility = 'internal'
    ) AS readable CROSS JOIN LATERAL (${rowsOf(sql`readable.project_id`)}) AS found
    ORDER BY ${by} LIMIT ${limit}`
}
