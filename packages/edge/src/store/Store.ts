/**
 * The Edge's SQLite store: one writer thread, one reading connection on the event loop.
 *
 * A commit is durable (WAL, synchronous=FULL) when its effect succeeds. Commits made while one is under way travel together in the
 * next. Reads are synchronous and see everything committed. It knows no tables: services own their SQL.
 *
 * A disk that is full or broken fails commits, and the store counts as failing from then on. It tries a write of its own every second,
 * in a new writer thread where the old one is gone, until one is on disk again.
 */
import Database from "better-sqlite3"
import { Context, Data, Effect, Latch, Layer } from "effect"
import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import type { Write, WriteError } from "./Writer.ts"
import { openWriter } from "./WriterLink.ts"

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
    /** Why it takes no writes, since a commit failed for a reason of the store's own; `undefined` while it takes them. */
    readonly failing: () => StoreFailed | undefined
    /** Succeeds when it takes writes: at once, or when it does again. */
    readonly writable: Effect.Effect<void>
  }
>()("corral/edge/Store") {
  static readonly layer = (file: string) => Layer.effect(Store, make(file))
}

const make = Effect.fnUntraced(function* (file: string) {
  yield* holdLock(`${file}.lock`)
  yield* Effect.try({
    try: () => keepPrivate(file),
    catch: (cause) => new StoreFailed({ message: `${file}: ${String(cause)}` })
  })
  const opened = openWriter(file).pipe(
    Effect.mapError(({ message }) => new StoreFailed({ message: `${file}: ${message}` }))
  )
  let writer = yield* opened
  const reader = yield* openReader(file)
  let failing: StoreFailed | undefined
  const fails = Latch.makeUnsafe(false)
  const writable = Latch.makeUnsafe(true)

  const failed = (error: WriteError): StoreFailed => {
    const failure = new StoreFailed({ message: error.message })
    if (isOfTheStore(error)) {
      failing = failure
      writable.closeUnsafe()
      fails.openUnsafe()
    }
    return failure
  }

  const commit = (writes: ReadonlyArray<Write>): Effect.Effect<void, StoreFailed> =>
    Effect.callback((resume) => {
      writer.submit(writes, (error) => resume(error === null ? Effect.void : Effect.fail(failed(error))))
    })

  const tryWrite = Effect.gen(function* () {
    if (writer.ended) writer = yield* opened
    yield* commit(probe)
    yield* commit(probeOver)
  })

  const mend = Effect.gen(function* () {
    yield* fails.await
    yield* Effect.logError(`the store takes no writes: ${failing?.message}`)
    let tried = false
    while (!tried) {
      yield* Effect.sleep("1 second")
      tried = (yield* Effect.exit(tryWrite))._tag === "Success"
    }
    failing = undefined
    fails.closeUnsafe()
    writable.openUnsafe()
    yield* Effect.logInfo("the store takes writes again")
  })
  yield* Effect.forkScoped(Effect.forever(mend))

  return Store.of({ commit, failing: () => failing, writable: writable.await, ...reader })
})

/** Not a flaw of the one job: what is SQLite's complaint about a statement or a constraint harms nobody else. */
const isOfTheStore = ({ code }: WriteError): boolean =>
  code !== undefined && !/^SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|MISUSE)/.test(code)

/** Not one page: a store that takes only that would fail the next run at its first words. */
const probe: ReadonlyArray<Write> = [
  ["DELETE FROM probe"],
  ["INSERT INTO probe (bytes) VALUES (zeroblob(262144))"]
]
const probeOver: ReadonlyArray<Write> = [["DELETE FROM probe"]]

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
