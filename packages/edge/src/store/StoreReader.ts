/** Synchronous reads of one SQLite connection. Damage that a read finds is reported, and thrown as `StoreDamaged`. */
import type Database from "better-sqlite3"
import { preparedStatements } from "./JobTransaction.ts"
import { isDamage, StoreDamaged, unreadable } from "./StoreDamage.ts"

export const storeReader = (db: Database.Database, report: (damage: StoreDamaged) => void) => {
  const statement = preparedStatements(db)
  const guarded = <A>(read: () => A): A => {
    try {
      return read()
    } catch (error) {
      if (!isDamage(error)) throw error
      const damage = new StoreDamaged({ message: unreadable(error.message) })
      report(damage)
      throw damage
    }
  }
  function* rowsOf<Row>(sql: string, params: ReadonlyArray<string | number>): Iterable<Row> {
    const rows = guarded(() => statement(sql).iterate(...params) as IterableIterator<Row>)
    try {
      for (let next = guarded(() => rows.next()); next.done !== true; next = guarded(() => rows.next()))
        yield next.value
    } finally {
      rows.return?.()
    }
  }
  return {
    all: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      guarded(() => statement(sql).all(...params) as ReadonlyArray<Row>),
    get: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      guarded(() => statement(sql).get(...params) as Row | undefined),
    each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => rowsOf<Row>(sql, params)
  }
}
