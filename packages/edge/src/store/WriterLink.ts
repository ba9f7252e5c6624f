/**
 * The event loop's side of the writer thread: sends jobs, and completes them with the replies. A small job that finds none in progress is committed here (`DirectCommits`).
 *
 * Other jobs go to the thread, and those that arrive while some are
 * in progress are sent together in the next message. When the thread ends, all pending jobs fail. The link stays closed, and `Store` opens a
 * new one.
 */

import { type Job, jobTransaction, LOG_SIZE_LIMIT } from "./JobTransaction.ts"
import { isDamageCode } from "./StoreDamage.ts"
import type { WriteError, WriterFile, WriterReply } from "./Writer.ts"
import type { WriterThread } from "./WriterThread.ts"
import { CommitTimes } from "@corral/service/CommitTimes"
import Database from "better-sqlite3"
import { Data, Effect, type Scope } from "effect"
import { receiveMessageOnPort } from "node:worker_threads"

// Small commits of an idle store on the event loop. To wake the writer thread and to be woken by it costs more than such a commit.
//
// Guarantees: the event loop is in commits for at most half of the time, and on a slow disk for a fiftieth. What is refused here is not applied, and
// the writer thread takes it. So do all failures: the thread tries the job again and reports why it fails.
//
// Does not: checkpoint. The thread does, after its own commits, and gets a job now and then for that.

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

/** Outcome of a job; `null` if it is durable. */
type Settled = (error: WriteError | null) => void

/** Code of a job that failed because the thread ended. */
const WRITER_GONE = "WRITER_GONE"

class WriterLink {
  private readonly post: WriterThread["post"]
  private waiting: Array<Job> = []
  private pendingSettled: Array<Settled> = []
  private inFlight: Array<Settled> | undefined
  private broken: WriteError | undefined

  private readonly direct: DirectCommits
  /** Of the thread and of the event loop: only one of them commits at a time. */
  readonly commitTimes: CommitTimes

  constructor({ post }: Pick<WriterThread, "post">, direct: DirectCommits, commitTimes: CommitTimes) {
    this.post = post
    this.commitTimes = commitTimes
    this.direct = direct
  }

  submit(job: Job, settled: Settled): void {
    if (this.broken !== undefined) return settled(this.broken)
    if (this.inFlight === undefined && this.direct.commit(job)) return settled(null)
    this.waiting.push(job)
    this.pendingSettled.push(settled)
    if (this.inFlight === undefined) this.sendPending()
  }

  arrived(reply: WriterReply): void {
    const settled = this.inFlight ?? []
    this.inFlight = undefined
    if (this.waiting.length > 0) this.sendPending()
    settled.forEach((settle, i) => settle(reply[i] ?? null))
  }

  /** Whether the thread has ended: the link then accepts no further commits. */
  get ended(): boolean {
    return this.broken !== undefined
  }

  break(reason: WriteError): void {
    this.broken ??= reason
    const unsettled = [...(this.inFlight ?? []), ...this.pendingSettled]
    this.inFlight = undefined
    this.waiting = []
    this.pendingSettled = []
    for (const settle of unsettled) settle(reason)
  }

  private sendPending(): void {
    const jobs = this.waiting
    this.inFlight = this.pendingSettled
    this.waiting = []
    this.pendingSettled = []
    this.direct.sentToThread()
    this.post(jobs)
  }
}

/** The thread could not start: the folder or database does not exist, or a newer version wrote it. */
export class WriterNotOpened extends Data.TaggedError("WriterNotOpened")<{
  readonly message: string
  readonly damaged: boolean
}> {}

interface Opened {
  readonly link: WriterLink
  readonly thread: WriterThread
  readonly direct: DirectCommits
}

/** Opens a database file in a writer thread. The thread ends with the scope, after the submitted jobs. */
export const openWriter = (
  file: WriterFile,
  start: () => WriterThread
): Effect.Effect<WriterLink, WriterNotOpened, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<Opened, WriterNotOpened>((resume) => {
      const thread = start()
      const direct = new DirectCommits(file.file, undefined, thread.commitTimes)
      const link = new WriterLink(thread, direct, thread.commitTimes)
      const fail = (message: string, code?: string) => {
        link.break({ message, code: WRITER_GONE })
        resume(Effect.fail(new WriterNotOpened({ message, damaged: isDamageCode(code) })))
      }
      void thread.ended.then((reason) => {
        // The reply of a thread that could not open the file may arrive after its end.
        const last: WriterReply | undefined = receiveMessageOnPort(thread.replies)?.message
        return fail(last?.[0]?.message ?? reason, last?.[0]?.code)
      })
      thread.replies.once("message", (opened: WriterReply) => {
        const error = opened[0] ?? null
        if (error !== null) return fail(error.message, error.code)
        thread.replies.on("message", (reply: WriterReply) => link.arrived(reply))
        resume(Effect.succeed({ link, thread, direct }))
      })
      thread.post(file)
    }),
    ({ direct, thread }) =>
      Effect.promise(() => {
        // Before the thread: the last connection moves the log file into the database.
        direct.close()
        thread.close()
        return thread.ended
      })
  ).pipe(Effect.map(({ link }) => link))
