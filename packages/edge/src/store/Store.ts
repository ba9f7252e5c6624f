/**
 * The Edge's SQLite store: one writer thread, one reading connection on the event loop.
 *
 * Guarantees: a commit is durable (WAL, synchronous=FULL) when its effect succeeds. Commits made during another one are written together
 * next. Reads are synchronous and see everything committed.
 *
 * Does not: know tables. Services own their SQL.
 *
 * A full or broken disk fails commits, and the store is failing from then on. The store tries a test write every second, in a new writer
 * thread if the old one is gone, until one succeeds.
 *
 * Damage is different: data that cannot be read as it was written. A read of it throws `StoreDamaged`, and the store counts as damaged
 * until the Edge is restarted.
 */
import Database from "better-sqlite3"
import { Context, Data, Effect, Latch, Layer } from "effect"
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { isDamage, isDamageCode, RESTORE_HINT, StoreDamaged } from "./StoreDamage.ts"
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
    /** Rows one by one, for a caller that may stop early. Nothing else may be read until it has. Reads throw `StoreDamaged`. */
    readonly each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => Iterable<Row>
    /** Why it takes no writes, since a commit failed for a reason of the store's own; `undefined` while it takes them. */
    readonly failing: () => StoreFailed | undefined
    /** The first damage that was found since the start. */
    readonly damage: () => StoreDamaged | undefined
    /** Reports damage that a reader found in what it read. */
    readonly reportDamage: (damage: StoreDamaged) => void
    /** Succeeds when it takes writes: at once, or when it does again. */
    readonly writable: Effect.Effect<void>
  }
>()("corral/edge/Store") {
  /** With `usedSince`, a file that a used home has, a missing or empty store is refused instead of created. */
  static readonly layer = (file: string, usedSince?: string) => Layer.effect(Store, make(file, usedSince))
}

const make = Effect.fnUntraced(function* (file: string, usedSince: string | undefined) {
  yield* holdLock(`${file}.lock`)
  if (usedSince !== undefined && existsSync(usedSince) && isEmpty(file))
    return yield* new StoreFailed({ message: lostStore(file, usedSince) })
  yield* Effect.try({
    try: () => keepPrivate(file),
    catch: (cause) => new StoreFailed({ message: `${file}: ${String(cause)}` })
  })
  const opened = openWriter(file).pipe(
    Effect.mapError(
      ({ damaged, message }) =>
        new StoreFailed({ message: `${file}: ${message}${damaged ? `. ${RESTORE_HINT}` : ""}` })
    )
  )
  let writer = yield* opened
  let damage: StoreDamaged | undefined
  const damaged = Latch.makeUnsafe(false)
  const reportDamage = (found: StoreDamaged): void => {
    damage ??= found
    damaged.openUnsafe()
  }
  yield* Effect.forkScoped(
    Effect.andThen(
      damaged.await,
      Effect.suspend(() => Effect.logError("the store is damaged", { cause: damage?.message }))
    )
  )
  const reader = yield* openReader(file, reportDamage)
  let failing: StoreFailed | undefined
  const fails = Latch.makeUnsafe(false)
  const writable = Latch.makeUnsafe(true)

  const failed = (error: WriteError): StoreFailed => {
    const failure = new StoreFailed({ message: error.message })
    if (isDamageCode(error.code)) reportDamage(new StoreDamaged({ message: unreadable(error.message) }))
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

  return Store.of({
    commit,
    failing: () => failing,
    damage: () => damage,
    reportDamage,
    writable: writable.await,
    ...reader
  })
})

const isEmpty = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0

/** Why a used home without its store is refused, and both ways on. */
export const lostStore = (file: string, usedSince: string): string =>
  `${file} is ${existsSync(file) ? "empty" : "missing"}, but ${usedSince} shows that this home was in use. ` +
  `Restore ${file} from a backup, or remove ${usedSince} to start with an empty store and a new token.`

const unreadable = (message: string): string => `The store cannot be read: ${message}.`

/** Whether an error concerns the whole store. SQLite's errors about a statement or a constraint concern one job. */
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

const openReader = Effect.fnUntraced(function* (file: string, report: (damage: StoreDamaged) => void) {
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
})
