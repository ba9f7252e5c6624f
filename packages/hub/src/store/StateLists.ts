/** Groups of states as lists for `IN`. Literals: partial indexes have the same conditions, and a plan with parameters can't use them. */
import { terminalStates } from "@corral/domain/run/RunEnd"
import { isTaskOver, TaskState } from "@corral/domain/task/Task"
import type { SqlClient, Statement } from "effect/sql"

const literalList = (sql: SqlClient.SqlClient, states: ReadonlyArray<string>): Statement.Fragment =>
  sql.literal(`(${states.map((state) => `'${state}'`).join(", ")})`)

const open = TaskState.literals.filter((state) => !isTaskOver(state))

/** Tasks that are not over. */
export const openTaskStates = (sql: SqlClient.SqlClient) => literalList(sql, open)

/** Tasks that may still wait for their target. Without a run, they can be cancelled here. */
export const waitingTaskStates = (sql: SqlClient.SqlClient) => literalList(sql, ["pending", "queued"])

/** States of tasks that are over without a completed run. */
export const lostStates = ["failed", "expired", "cancelled"] as const
export const lostTaskStates = (sql: SqlClient.SqlClient) => literalList(sql, lostStates)

/** Runs that have ended. */
export const endedRunStates = (sql: SqlClient.SqlClient) => literalList(sql, terminalStates)
