/**
 * Writer thread: writes the Edge's database, except for small jobs that find no other in progress (`DirectCommits`).
 *
 * Guarantees: jobs that are ready together share one transaction and one fsync. A slow disk blocks this thread, not the event loop that
 * serves runs. The thread waits on a shared counter instead of its event loop, because that wakes faster. Its first message is the file.
 */
import { CommitTimes } from "@corral/service/CommitTimes"
import Database from "better-sqlite3"
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads"
import { type Job, jobTransaction, LOG_SIZE_LIMIT } from "./JobTransaction.ts"
import { migrateEdgeStore } from "./migrations.ts"

export interface WriterData {
  /** [0]: messages posted. [1]: 1 = close. */
  readonly signal: Int32Array
  readonly port: MessagePort
  /** Memory of the commit times, shared with the event loop. */
  readonly commitTimes: Int32Array
}

/** First message: the database, and whether it may be created. */
export interface WriterFile {
  readonly file: string
  readonly mayCreate: boolean
}

/** Reason why a job was not applied. `code` is SQLite's, if the failure is from SQLite. */
export interface WriteError {
  readonly message: string
  readonly code?: string
}

/** Per job: the error, or `null`. The first message reports whether the database opened. */
export type WriterReply = ReadonlyArray<WriteError | null>

const { commitTimes, port, signal } = workerData as WriterData

/** Waits for the file; `undefined` if the thread is closed without one. */
const receiveFile = (): WriterFile | undefined => {
  Atomics.wait(signal, 0, 0)
  return receiveMessageOnPort(port)?.message
}

const open = ({ file, mayCreate }: WriterFile): Database.Database => {
  const db = new Database(file)
  // Before the first table: allows freeing pages in small steps. A database that was created without it keeps its size.
  db.pragma("auto_vacuum = INCREMENTAL")
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.pragma("wal_autocheckpoint = 2000")
  db.pragma(`journal_size_limit = ${LOG_SIZE_LIMIT}`)
  db.pragma("busy_timeout = 5000")
  migrateEdgeStore(db, mayCreate)
  return db
}

const errorOf = (error: unknown): WriteError =>
  error instanceof Database.SqliteError
    ? { message: error.message, code: error.code }
    : { message: error instanceof Error ? error.message : String(error) }

const serve = (db: Database.Database): void => {
  const apply = jobTransaction(db, new CommitTimes(commitTimes))

  /** Applies all jobs together. If that fails, applies each alone, so that one bad job does not affect others. */
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

const file = receiveFile()
let db: Database.Database | undefined
try {
  if (file !== undefined) db = open(file)
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
