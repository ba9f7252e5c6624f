/**
 * Small commits of an idle store on the event loop. To wake the writer thread and to be woken by it costs more than such a commit.
 *
 * Guarantees: the event loop is in commits for at most half of the time, and on a slow disk for a fiftieth. What is refused here is not
 * applied, and the writer thread takes it. So do all failures: the thread tries the job again and reports why it fails.
 *
 * Does not: checkpoint. The thread does, after its own commits, and gets a job now and then for that.
 */
import { CommitTimes } from "@corral/service/CommitTimes"
import Database from "better-sqlite3"
import { type Job, jobTransaction, LOG_SIZE_LIMIT } from "./JobTransaction.ts"

/** Characters and bytes of a small job: a decision with its rows, also of a run with a long prompt. A larger one is of a busy stream. */
const SMALL_JOB = 16_384

/** A commit that takes longer is one of a slow disk. */
const QUICK_MS = 2

/** Pause after a commit, in multiples of its time. */
const PAUSE = 1
const SLOW_PAUSE = 50

/** Pause after a failure. */
const FAILURE_PAUSE_MS = 10_000

/** Direct commits before one by the thread. About 200 pages of the log file: the thread checkpoints at 2,000. */
const COMMITS_IN_SEQUENCE = 64

export class DirectCommits {
  private readonly open: () => Database.Database
  private readonly now: () => number
  private readonly commitTimes: CommitTimes
  private db: Database.Database | undefined
  private apply: ((jobs: ReadonlyArray<Job>) => void) | undefined
  private notBefore = 0
  /** Direct commits since the last job of the thread. */
  private inSequence = 0

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(
    file: string,
    now: () => number = () => performance.now(),
    commitTimes: CommitTimes = new CommitTimes()
  ) {
    this.now = now
    this.commitTimes = commitTimes
    this.open = () => {
      const db = new Database(file, { fileMustExist: true, timeout: 0 })
      db.pragma("synchronous = FULL")
      db.pragma("wal_autocheckpoint = 0")
      db.pragma(`journal_size_limit = ${LOG_SIZE_LIMIT}`)
      return db
    }
  }

  /** Whether the job is durable now. Only for a store without jobs in progress. */
  commit(job: Job): boolean {
    if (this.inSequence === COMMITS_IN_SEQUENCE) return false
    if (sizeOf(job) > SMALL_JOB || this.now() < this.notBefore) return false
    try {
      const apply = (this.apply ??= jobTransaction((this.db ??= this.open()), this.commitTimes))
      const begin = this.now()
      apply([job])
      const end = this.now()
      const took = end - begin
      this.notBefore = end + took * (took > QUICK_MS ? SLOW_PAUSE : PAUSE)
      this.inSequence++
      return true
    } catch {
      this.notBefore = this.now() + FAILURE_PAUSE_MS
      return false
    }
  }

  /** The thread has received a job. */
  sentToThread(): void {
    this.inSequence = 0
  }

  close(): void {
    this.db?.close()
    this.notBefore = Number.POSITIVE_INFINITY
  }
}

const sizeOf = (job: Job): number => {
  let size = 0
  for (const write of job)
    for (const value of write)
      size += typeof value === "string" || value instanceof Uint8Array ? value.length : 8
  return size
}
