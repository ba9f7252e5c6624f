/**
 * The writer thread: the only connection that writes the Edge's database.
 *
 * It owns durability. Jobs that are ready together share one transaction and one fsync, and a slow disk blocks this thread alone,
 * never the event loop that serves runs. It sleeps on a shared counter rather than on its event loop: waking that way costs less.
 */
import Database from "better-sqlite3"
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads"
import { migrateEdgeStore } from "./migrations.ts"

/** One statement and its parameters. */
export type Write = readonly [
  sql: string,
  ...params: ReadonlyArray<string | number | bigint | null | Uint8Array>
]

/** The writes of one job are applied together or not at all. */
export type Job = ReadonlyArray<Write>

export interface WriterData {
  readonly file: string
  /** [0]: jobs posted. [1]: 1 = close. */
  readonly signal: Int32Array
  readonly port: MessagePort
}

/** Why a job was not applied. `code` is SQLite's, where it comes from there. */
export interface WriteError {
  readonly message: string
  readonly code?: string
}

/** Per job: the error, or `null`. The first message of all says whether the database opened. */
export type WriterReply = ReadonlyArray<WriteError | null>

const { file, signal, port } = workerData as WriterData

const open = (): Database.Database => {
  const db = new Database(file)
  // Before the first table: free pages can be given back in small steps. A database that was made without it keeps its size.
  db.pragma("auto_vacuum = INCREMENTAL")
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.pragma("wal_autocheckpoint = 2000")
  // A log file that one burst made large is truncated when it starts again.
  db.pragma("journal_size_limit = 33554432")
  db.pragma("busy_timeout = 5000")
  migrateEdgeStore(db)
  return db
}

const errorOf = (error: unknown): WriteError =>
  error instanceof Database.SqliteError
    ? { message: error.message, code: error.code }
    : { message: error instanceof Error ? error.message : String(error) }

const serve = (db: Database.Database): void => {
  const statements = new Map<string, Database.Statement>()
  const statement = (sql: string): Database.Statement => {
    let prepared = statements.get(sql)
    if (prepared === undefined) statements.set(sql, (prepared = db.prepare(sql)))
    return prepared
  }
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")

  const write = ([sql, ...params]: Write): void => {
    // A pragma that works in steps does one of them unless it is run to its end.
    if (sql.startsWith("PRAGMA ")) db.exec(sql)
    else statement(sql).run(...params)
  }

  const apply = (jobs: ReadonlyArray<Job>): void => {
    begin.run()
    try {
      for (const job of jobs) job.forEach(write)
      commit.run()
    } catch (error) {
      if (db.inTransaction) rollback.run()
      throw error
    }
  }

  /** All together first; when that fails, each job alone, so that one bad job harms no other. */
  const settle = (jobs: ReadonlyArray<Job>): WriterReply => {
    try {
      apply(jobs)
      return jobs.map(() => null)
    } catch (error) {
      if (jobs.length === 1) return [errorOf(error)]
      return jobs.map((job) => {
        try {
          apply([job])
          return null
        } catch (reason) {
          return errorOf(reason)
        }
      })
    }
  }

  let seen = 0
  while (Atomics.load(signal, 1) === 0) {
    Atomics.wait(signal, 0, seen)
    seen = Atomics.load(signal, 0)
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      port.postMessage(settle(next.message as ReadonlyArray<Job>))
    }
  }
}

let db: Database.Database | undefined
try {
  db = open()
} catch (error) {
  port.postMessage([errorOf(error)] satisfies WriterReply)
}
if (db !== undefined) {
  port.postMessage([null] satisfies WriterReply)
  serve(db)
  db.close()
  port.postMessage([] satisfies WriterReply)
}
port.close()
