/**
 * The Edge's SQLite store: one writer thread, one reading connection on the event loop.
 *
 * A commit is durable (WAL, synchronous=FULL) when its effect succeeds. Commits made while one is under way travel together in the
 * next. Reads are synchronous and see everything committed. It knows no tables: services own their SQL.
 */
import Database from "better-sqlite3"
import { Context, Data, Effect, Layer } from "effect"
import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { MessageChannel, Worker } from "node:worker_threads"
import type { Job, Write, WriterData, WriterReply } from "./Writer.ts"

export type { Write } from "./Writer.ts"

/** The store could not be opened or written: the disk is full, the file damaged, the thread gone. */
export class StoreFailed extends Data.TaggedError("StoreFailed")<{ readonly message: string }> {}

export class Store extends Context.Service<
  Store,
  {
    /** Applies the writes together; succeeds when they are on disk. */
    readonly commit: (writes: ReadonlyArray<Write>) => Effect.Effect<void, StoreFailed>
    readonly all: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => ReadonlyArray<Row>
    readonly get: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => Row | undefined
    /** Rows one by one, for a caller that may stop early. Nothing else may be read until it has. */
    readonly each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => Iterable<Row>
  }
>()("corral/edge/Store") {
  static readonly layer = (file: string) =>
    Layer.effect(
      Store,
      Effect.gen(function* () {
        yield* holdLock(`${file}.lock`)
        yield* Effect.try({
          try: () => keepPrivate(file),
          catch: (cause) => new StoreFailed({ message: `${file}: ${String(cause)}` })
        })
        const writer = yield* openWriter(file)
        const reader = yield* openReader(file)
        return Store.of({
          commit: (writes) =>
            Effect.callback((resume) => {
              writer.submit(writes, (error) =>
                resume(error === null ? Effect.void : Effect.fail(new StoreFailed({ message: error })))
              )
            }),
          ...reader
        })
      })
    )
}

/** SQLite gives its side files the mode of the database: it must be there, and its owner's alone, before it is opened. */
const keepPrivate = (file: string): void => {
  closeSync(openSync(file, "a", 0o600))
  chmodSync(file, 0o600)
}

/** One process a store: the kernel lets go of the lock when its holder dies, however it dies. */
const holdLock = (file: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        keepPrivate(file)
        const db = new Database(file, { timeout: 0 })
        db.pragma("journal_mode = MEMORY")
        db.pragma("locking_mode = EXCLUSIVE")
        db.exec("BEGIN EXCLUSIVE; COMMIT")
        return db
      },
      catch: (cause) =>
        new StoreFailed({
          message:
            cause instanceof Database.SqliteError && cause.code.startsWith("SQLITE_BUSY")
              ? `${dirname(file)} is in use by another Edge`
              : `${file}: ${String(cause)}`
        })
    }),
    (db) => Effect.sync(() => db.close())
  )

type Settled = (error: string | null) => void

/** Hands jobs to the writer thread, one message at a time: what is submitted meanwhile leaves together in the next. */
class WriterLink {
  private readonly signal: Int32Array
  private readonly post: (jobs: ReadonlyArray<Job>) => void
  private waiting: Array<Job> = []
  private waitingSettled: Array<Settled> = []
  private flying: Array<Settled> | undefined
  private broken: string | undefined

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

  break(reason: string): void {
    this.broken = reason
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

/** Beside this file in the sources, `writer.mjs` beside the entry in a build. */
const writerFile = (): URL => {
  const built = new URL("./writer.mjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./Writer.ts", import.meta.url)
}

const openWriter = Effect.fnUntraced(function* (file: string) {
  return yield* Effect.acquireRelease(
    Effect.callback<{ readonly link: WriterLink; readonly gone: Promise<void> }, StoreFailed>((resume) => {
      const signal = new Int32Array(new SharedArrayBuffer(8))
      const { port1, port2 } = new MessageChannel()
      const workerData: WriterData = { file, signal, port: port2 }
      const worker = new Worker(writerFile(), { workerData, transferList: [port2] })
      const gone = new Promise<void>((resolve) => worker.once("exit", () => resolve()))
      const link = new WriterLink(signal, (jobs) => port1.postMessage(jobs))
      const fail = (message: string) => {
        link.break(message)
        resume(Effect.fail(new StoreFailed({ message: `${file}: ${message}` })))
      }
      worker.on("error", (error) => fail(error.message))
      worker.on("exit", () => fail("the writer thread has ended"))
      port1.once("message", (opened: WriterReply) => {
        const error = opened[0] ?? null
        if (error !== null) return fail(error)
        port1.on("message", (reply: WriterReply) => link.arrived(reply))
        resume(Effect.succeed({ link, gone }))
      })
    }),
    ({ link, gone }) =>
      Effect.promise(() => {
        link.close()
        return gone
      })
  ).pipe(Effect.map(({ link }) => link))
})

const openReader = Effect.fnUntraced(function* (file: string) {
  const db = yield* Effect.acquireRelease(
    Effect.try({
      try: () => {
        return new Database(file, { readonly: true })
      },
      catch: (cause) => new StoreFailed({ message: `${file}: ${String(cause)}` })
    }),
    (db) => Effect.sync(() => db.close())
  )
  const statements = new Map<string, Database.Statement>()
  const statement = (sql: string): Database.Statement => {
    let prepared = statements.get(sql)
    if (prepared === undefined) statements.set(sql, (prepared = db.prepare(sql)))
    return prepared
  }
  return {
    all: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      statement(sql).all(...params) as ReadonlyArray<Row>,
    get: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      statement(sql).get(...params) as Row | undefined,
    each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) =>
      statement(sql).iterate(...params) as Iterable<Row>
  }
})
