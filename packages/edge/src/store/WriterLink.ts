/**
 * The event loop's end of the writer thread: hands it jobs and settles them by its replies.
 *
 * Jobs that are submitted while some are under way leave together in the next message. When the thread ends, everything that waits is
 * settled with that; the link never works again, and a new one is opened in its place (`Store`).
 */
import { Data, Effect, type Scope } from "effect"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { MessageChannel, Worker } from "node:worker_threads"
import { isDamageCode } from "./StoreDamage.ts"
import type { Job, WriteError, WriterData, WriterReply } from "./Writer.ts"

/** What became of a job: `null`, it is on disk. */
type Settled = (error: WriteError | null) => void

/** The thread is gone: what `code` says of a job that it did not answer. */
export const WRITER_GONE = "WRITER_GONE"

export class WriterLink {
  private readonly signal: Int32Array
  private readonly post: (jobs: ReadonlyArray<Job>) => void
  private waiting: Array<Job> = []
  private waitingSettled: Array<Settled> = []
  private flying: Array<Settled> | undefined
  private broken: WriteError | undefined

  constructor(signal: Int32Array, post: (jobs: ReadonlyArray<Job>) => void) {
    this.signal = signal
    this.post = post
  }

  submit(job: Job, settled: Settled): void {
    if (this.broken !== undefined) return settled(this.broken)
    this.waiting.push(job)
    this.waitingSettled.push(settled)
    if (this.flying === undefined) this.depart()
  }

  arrived(reply: WriterReply): void {
    const settled = this.flying ?? []
    this.flying = undefined
    if (this.waiting.length > 0) this.depart()
    settled.forEach((tell, i) => tell(reply[i] ?? null))
  }

  /** Whether the thread has ended: the link then accepts no further commits. */
  get ended(): boolean {
    return this.broken !== undefined
  }

  break(reason: WriteError): void {
    this.broken ??= reason
    const lost = [...(this.flying ?? []), ...this.waitingSettled]
    this.flying = undefined
    this.waiting = []
    this.waitingSettled = []
    for (const tell of lost) tell(reason)
  }

  close(): void {
    Atomics.store(this.signal, 1, 1)
    this.wake()
  }

  private depart(): void {
    const jobs = this.waiting
    this.flying = this.waitingSettled
    this.waiting = []
    this.waitingSettled = []
    this.post(jobs)
    this.wake()
  }

  private wake(): void {
    Atomics.add(this.signal, 0, 1)
    Atomics.notify(this.signal, 0)
  }
}

/** Beside this file in the sources, `writer.cjs` beside the entry in a build. */
const writerFile = (): URL => {
  const built = new URL("./writer.cjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./Writer.ts", import.meta.url)
}

/** The thread did not come up: no such folder, no database, one of a newer version. */
export class WriterNotOpened extends Data.TaggedError("WriterNotOpened")<{
  readonly message: string
  readonly damaged: boolean
}> {}

/** Starts a writer thread for the database file. It ends with the scope, after what was submitted. */
export const openWriter = (file: string): Effect.Effect<WriterLink, WriterNotOpened, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly link: WriterLink; readonly gone: Promise<void> }, WriterNotOpened>(
      (resume) => {
        const signal = new Int32Array(new SharedArrayBuffer(8))
        const { port1, port2 } = new MessageChannel()
        const workerData: WriterData = { file, signal, port: port2 }
        const worker = new Worker(writerFile(), { workerData, transferList: [port2] })
        const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()))
        const link = new WriterLink(signal, (jobs) => port1.postMessage(jobs))
        const fail = (message: string, code?: string) => {
          link.break({ message, code: WRITER_GONE })
          resume(Effect.fail(new WriterNotOpened({ message, damaged: isDamageCode(code) })))
        }
        worker.on("error", (error) => fail(error.message))
        worker.on("exit", () => fail("the writer thread has ended"))
        port1.once("message", (opened: WriterReply) => {
          const error = opened[0] ?? null
          if (error !== null) return fail(error.message, error.code)
          port1.on("message", (reply: WriterReply) => link.arrived(reply))
          resume(Effect.succeed({ link, gone }))
        })
      }
    ),
    ({ gone, link }) =>
      Effect.promise(() => {
        link.close()
        return gone
      })
  ).pipe(Effect.map(({ link }) => link))
