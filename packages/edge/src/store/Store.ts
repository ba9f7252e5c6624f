/**
 * The Edge's SQLite store: a writer thread, and on the event loop a connection for reads and one for small commits of an idle store.
 *
 * Guarantees: a commit is durable (WAL, synchronous=FULL) when its effect succeeds. Commits made during another one are written together
 * next. Reads are synchronous and see everything committed.
 *
 * Does not: know tables. Services own their SQL. Or lock the file: `HomeLock` does.
 *
 * A full or broken disk fails commits, and the store is failing from then on. The store tries a test write every second, in a new writer
 * thread if the old one is gone, until one succeeds.
 *
 * Damage is different: data that cannot be read as it was written. A read of it throws `StoreDamaged`, and the store counts as damaged
 * until the Edge is restarted.
 */
import type { SlowCommits } from "@corral/service/CommitTimes"
import { makeFolder } from "@corral/service/MakeFolder"
import Database from "better-sqlite3"
import { Context, Data, Effect, Latch, Layer } from "effect"
import { existsSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { EMPTY_STORE, migrateEdgeStore } from "./migrations.ts"
import { fileReason, withRemedy } from "./FileReason.ts"
import { keepPrivate } from "./PrivateFile.ts"
import {
  isDamageCode,
  LOST_HINT,
  lostChanges,
  RESTORE_HINT,
  StoreDamaged,
  unreadable,
  storeReader
} from "./StoreDamage.ts"
import type { Write } from "./JobTransaction.ts"
import type { WriteError } from "./Writer.ts"
import { openWriter, type WriterNotOpened } from "./WriterLink.ts"
import { startWriterThread, type WriterThread } from "./WriterThread.ts"

export type { Write } from "./JobTransaction.ts"

/** The store could not be opened or written: the disk is full, the file is damaged, or the writer thread ended. */
export class StoreFailed extends Data.TaggedError("StoreFailed")<{ readonly message: string }> {}

/** Called when writes are durable, or have failed. Must not throw. */
export type Committed = (error: StoreFailed | undefined) => void

/** Writer thread that runs already. The store starts a thread if there is none, and when this one has ended. */
export const FirstWriter = Context.Reference<WriterThread | undefined>("corral/edge/FirstWriter", {
  defaultValue: () => undefined
})

export class Store extends Context.Service<
  Store,
  {
    /** Applies the writes together, then calls `done`: before it returns where the writes are few and the store is idle. */
    readonly submit: (writes: ReadonlyArray<Write>, done: Committed) => void
    /** Applies the writes together; succeeds when they are durable. */
    readonly commit: (writes: ReadonlyArray<Write>) => Effect.Effect<void, StoreFailed>
    readonly all: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => ReadonlyArray<Row>
    readonly get: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => Row | undefined
    /** Rows one by one, for a caller that may stop early. No other read may run before it ends. Reads throw `StoreDamaged`. */
    readonly each: <Row>(sql: string, ...params: ReadonlyArray<string | number>) => Iterable<Row>
    /** Reason why commits fail; `undefined` while the store accepts writes. */
    readonly failing: () => StoreFailed | undefined
    /** The first damage since the start. */
    readonly damage: () => StoreDamaged | undefined
    /** Reports damage that a reader found in what it read. */
    readonly reportDamage: (damage: StoreDamaged) => void
    /** Slow commits of the last minute; `undefined` while commits are fast enough. */
    readonly slowCommits: () => SlowCommits | undefined
    /** Succeeds when the store accepts writes. */
    readonly writable: Effect.Effect<void>
    /** What was lost before the store was opened, as a sentence. */
    readonly lost: string | undefined
  }
>()("corral/edge/Store") {
  /** With `usedSince`, a file that a used home has, a missing or empty store is refused instead of created. */
  static readonly layer = (file: string, usedSince?: string) => Layer.effect(Store, make(file, usedSince))

  /** The store in the Edge's home. */
  static readonly layerHome = Layer.effect(
    Store,
    Effect.flatMap(EdgeConfig, ({ home }) => make(join(home, "edge.db"), join(home, "edge.token")))
  )

  /** An empty store in memory, for tests and for programs that keep nothing. One connection reads and writes. */
  static readonly layerMemory = Layer.effect(
    Store,
    Effect.suspend(() => makeMemory)
  )
}

const make = Effect.fnUntraced(function* (file: string, usedSince: string | undefined) {
  const lost = usedSince !== undefined && existsSync(usedSince) ? lostStore(file, usedSince) : undefined
  if (lost !== undefined && isEmpty(file)) return yield* new StoreFailed({ message: lost })
  yield* Effect.try({
    try: () => {
      makeFolder(dirname(file))
      keepPrivate(file)
    },
    catch: (cause) =>
      new StoreFailed({
        message: isFolder(file) ? folderAsStore(file) : `${file} cannot be written: ${fileReason(cause)}.`
      })
  })
  const lostLog = yield* Effect.sync(() => lostChangesOf(file))
  if (lostLog !== undefined)
    yield* Effect.logError("changes of the store are lost", { cause: lostLog, next: LOST_HINT })
  const opened = openWriter({ file, mayCreate: lost === undefined }, threadsFrom(yield* FirstWriter)).pipe(
    Effect.mapError((error) => notOpened(file, error, lost))
  )
  let writer = yield* opened
  const { damage, reportDamage } = yield* firstDamage
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

  const submit = (writes: ReadonlyArray<Write>, done: Committed): void =>
    writer.submit(writes, (error) => done(error === null ? undefined : failed(error)))
  const commit = committing(submit)

  const tryWrite = Effect.gen(function* () {
    if (writer.ended) writer = yield* opened
    yield* commit(probe)
    yield* commit(probeOver)
  })

  const recoverWrites = Effect.gen(function* () {
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
  yield* Effect.forkScoped(Effect.forever(recoverWrites))

  return Store.of({
    submit,
    commit,
    failing: () => failing,
    slowCommits: () => writer.commitTimes.slow(),
    damage,
    reportDamage,
    writable: writable.await,
    lost: lostLog,
    ...reader
  })
})

/** The effect of a submit. */
export const committing =
  <Arguments extends ReadonlyArray<unknown>>(submit: (...submitted: [...Arguments, Committed]) => void) =>
  (...submitted: Arguments): Effect.Effect<void, StoreFailed> =>
    Effect.callback((resume) =>
      submit(...submitted, (error) => resume(error === undefined ? Effect.void : Effect.fail(error)))
    )

/** A file that cannot be read fails when the store is opened. */
const lostChangesOf = (file: string): string | undefined => {
  try {
    return lostChanges(file)
  } catch {
    return undefined
  }
}

/** Keeps and logs the first damage that is reported. */
const firstDamage = Effect.gen(function* () {
  let damage: StoreDamaged | undefined
  const damaged = Latch.makeUnsafe(false)
  yield* Effect.forkScoped(
    Effect.andThen(
      damaged.await,
      Effect.suspend(() => Effect.logError("the store is damaged", { cause: damage?.message }))
    )
  )
  return {
    damage: () => damage,
    reportDamage: (found: StoreDamaged): void => {
      damage ??= found
      damaged.openUnsafe()
    }
  }
})

/** `lost`: the message for a used home whose store is empty. */
const notOpened = (
  file: string,
  { damaged, message }: WriterNotOpened,
  lost: string | undefined
): StoreFailed => {
  if (lost !== undefined && message === EMPTY_STORE) return new StoreFailed({ message: lost })
  return new StoreFailed({ message: `${file}: ${withRemedy(message)}${damaged ? `. ${RESTORE_HINT}` : ""}` })
}

/** Starts a thread for each call but the first, if there is one already. */
const threadsFrom = (first: WriterThread | undefined) => (): WriterThread => {
  const thread = first ?? startWriterThread()
  first = undefined
  return thread
}

/** Message for a folder with the name of the store. */
export const folderAsStore = (file: string): string =>
  `${file} is a folder. Move it away, or set another CORRAL_HOME.`

const isFolder = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isDirectory() === true

const isEmpty = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0

/** Message for a used home without its store, with both ways to continue. */
export const lostStore = (file: string, usedSince: string): string =>
  `${file} is ${existsSync(file) ? "empty" : "missing"}, but ${usedSince} shows that this home was in use. ` +
  `Restore ${file} from a backup, or remove ${usedSince} to start with an empty store and a new token.`

/** Whether an error concerns the whole store. SQLite's errors about a statement or a constraint concern one job. */
const isOfTheStore = ({ code }: WriteError): boolean =>
  code !== undefined && !/^SQLITE_(ERROR|CONSTRAINT|MISMATCH|TOOBIG|RANGE|MISUSE)/.test(code)

/** More than one page: a store that can write only a page would fail in the next run. */
const probe: ReadonlyArray<Write> = [
  ["DELETE FROM probe"],
  ["INSERT INTO probe (bytes) VALUES (zeroblob(262144))"]
]
const probeOver: ReadonlyArray<Write> = [["DELETE FROM probe"]]

const openReader = Effect.fnUntraced(function* (file: string, report: (damage: StoreDamaged) => void) {
  const db = yield* Effect.acquireRelease(
    Effect.try({
      try: () => new Database(file, { readonly: true }),
      catch: (cause) => new StoreFailed({ message: `${file}: ${String(cause)}` })
    }),
    (db) => Effect.sync(() => db.close())
  )
  return storeReader(db, report)
})

const makeMemory = Effect.gen(function* () {
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new Database(":memory:")),
    (db) => Effect.sync(() => db.close())
  )
  migrateEdgeStore(db)
  let damage: StoreDamaged | undefined
  const reportDamage = (found: StoreDamaged): void => {
    damage ??= found
  }
  const apply = db.transaction((writes: ReadonlyArray<Write>) => {
    for (const [sql, ...params] of writes)
      if (sql.startsWith("PRAGMA ")) db.exec(sql)
      else db.prepare(sql).run(...params)
  })
  const { all, get } = storeReader(db, reportDamage)
  const submit = (writes: ReadonlyArray<Write>, done: Committed): void => {
    let failure: StoreFailed | undefined
    try {
      apply(writes)
    } catch (cause) {
      failure = new StoreFailed({ message: String(cause) })
    }
    done(failure)
  }
  return Store.of({
    submit,
    commit: committing(submit),
    all,
    get,
    // Complete before a write: a connection with an open cursor cannot write.
    each: all,
    failing: () => undefined,
    slowCommits: () => undefined,
    damage: () => damage,
    reportDamage,
    writable: Effect.void,
    lost: undefined
  })
})
