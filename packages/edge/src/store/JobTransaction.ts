/** Jobs and their transaction, the same on the writer thread and on the event loop. */
import type { CommitTimes } from "@corral/service/CommitTimes"
import type Database from "better-sqlite3"

// Statements of one SQLite connection, each prepared once.

export const preparedStatements = (db: Database.Database): ((sql: string) => Database.Statement) => {
  const statements = new Map<string, Database.Statement>()
  return (sql) => {
    let prepared = statements.get(sql)
    if (prepared === undefined) statements.set(sql, (prepared = db.prepare(sql)))
    return prepared
  }
}

/** One statement and its parameters. */
export type Write = readonly [
  sql: string,
  ...params: ReadonlyArray<string | number | bigint | null | Uint8Array>
]

/** A job. Its writes are applied together or not at all. */
export type Job = ReadonlyArray<Write>

/** Bytes that a log file is cut to after a burst. */
export const LOG_SIZE_LIMIT = 33_554_432

/** Applies jobs of that connection in one transaction. Throws if one fails; then none is applied. */
export const jobTransaction = (
  db: Database.Database,
  commitTimes: CommitTimes
): ((jobs: ReadonlyArray<Job>) => void) => {
  const statement = preparedStatements(db)
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")

  const write = ([sql, ...params]: Write): void => {
    // A pragma that works in steps does only one step unless all its rows are read.
    if (sql.startsWith("PRAGMA ")) db.exec(sql)
    else statement(sql).run(...params)
  }

  return (jobs) => {
    begin.run()
    try {
      for (const job of jobs) job.forEach(write)
      const beganAt = performance.now()
      commit.run()
      commitTimes.note(performance.now() - beganAt)
    } catch (error) {
      if (db.inTransaction) rollback.run()
      throw error
    }
  }
}
