/** Statements of one SQLite connection, each prepared once. */
import type Database from "better-sqlite3"

export const preparedStatements = (db: Database.Database): ((sql: string) => Database.Statement) => {
  const statements = new Map<string, Database.Statement>()
  return (sql) => {
    let prepared = statements.get(sql)
    if (prepared === undefined) statements.set(sql, (prepared = db.prepare(sql)))
    return prepared
  }
}
