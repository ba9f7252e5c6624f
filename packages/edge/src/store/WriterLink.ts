/**
 * The event loop's side of the writer thread: sends jobs, and completes them with the replies.
 *
 * A small job that finds none in progress is committed on the event loop. Other jobs go to the thread, and those that arrive while some are
 * in progress are sent together in the next message. When the thread ends, all pending jobs fail. The link stays closed, and `Store` opens a
 * new one.
 */
import type { CommitTimes } from "@corral/service/CommitTimes"
import { Data, Effect, type Scope } from "effect"
import { receiveMessageOnPort } from "node:worker_threads"
import { isDamageCode } from "./StoreDamage.ts"
import { DirectCommits } from "./DirectCommits.ts"
import type { Job } from "./JobTransaction.ts"
import type { WriteError, WriterFile, WriterReply } from "./Writer.ts"
import type { WriterThread } from "./WriterThread.ts"

/** Outcome of a job; `null` if it is durable. */
type Settled = (error: WriteError | null) => void

/** Code of a job that failed because the thread ended. */
const WRITER_GONE = "WRITER_GONE"

export class WriterLink {
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
