import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { within } from "@corral/testing/time/Until"
import type { Worker } from "node:worker_threads"
import { FirstWriter, Store } from "../../src/store/Store.ts"
import { RESTORE_HINT } from "../../src/store/StoreDamage.ts"
import { migrateEdgeStore } from "../../src/store/migrations.ts"
import { examineStore } from "../../src/log/StoreExamination.ts"
import { startWriterThread } from "../../src/store/WriterThread.ts"
import { temporaryFolder } from "../Folder.ts"
import { approvalsIn, insertApproval, insertLargeApproval, storeContract } from "./StoreContract.ts"

const databaseFile = Effect.map(temporaryFolder, (folder) => join(folder, "home", "edge.db"))

/** Fails if it takes too long. */
const inTime = (effect: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.promise(() => within(Effect.runPromise(effect), 5_000, "the end of the store"))

/** Open until the scope closes. */
const open = (file: string) =>
  Effect.map(Layer.build(Layer.fresh(Store.layer(file))), (context) => Context.get(context, Store))

storeContract("Store on disk", Effect.flatMap(databaseFile, open))

storeContract(
  "Store in memory",
  Effect.map(Layer.build(Layer.fresh(Store.layerMemory)), (context) => Context.get(context, Store))
)

/** Version of a store whose runs, approvals and inputs have no row ids. */
const WITHOUT_ROW_IDS = 9
/** Version of a store whose runs have no column for their sessions. */
const WITHOUT_SESSIONS = 14

describe("Store", () => {
  it.effect("still has what it committed when it is opened again", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      for (const id of ["a", "b", "c"]) {
        const before = yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* open(file)
            yield* store.commit([insertApproval(id)])
            return approvalsIn(store)
          })
        )
        assert.include(before, id)
      }
      assert.deepStrictEqual(approvalsIn(yield* open(file)), ["a", "b", "c"])
    })
  )

  it.effect("commits with a log that survives the machine: WAL, and fsync before success", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      const store = yield* open(file)
      assert.deepStrictEqual(store.get("PRAGMA journal_mode"), { journal_mode: "wal" })
      yield* store.commit([insertApproval("a")])
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(statSync(dirname(file)).mode & 0o777, 0o700)
    })
  )

  /** A store in a separate scope, and its writer thread. */
  const openWithWriter = Effect.gen(function* () {
    const started: Array<Worker> = []
    const watch = (worker: Worker) => started.push(worker)
    process.on("worker", watch)
    const scope = yield* Scope.make()
    const store = yield* Scope.provide(open(yield* databaseFile), scope)
    process.off("worker", watch)
    const [writer] = started
    assert(writer !== undefined)
    return { scope, store, writer }
  })

  it.effect("fails everybody who waits, and everybody after, when its writer dies", () =>
    Effect.gen(function* () {
      const { store, writer } = yield* openWithWriter
      yield* store.commit([insertApproval("a")])
      const dead = writer.terminate()
      const waiting = yield* Effect.forEach(
        ["b", "c", "d"],
        (id) => Effect.flip(store.commit([insertLargeApproval(id)])),
        {
          concurrency: "unbounded"
        }
      )
      yield* Effect.promise(() => dead)
      const after = yield* Effect.flip(store.commit([insertApproval("e")]))
      for (const failure of [...waiting, after]) {
        assert.deepInclude(failure, { _tag: "StoreFailed", message: "the writer thread has ended" })
      }
      assert.deepStrictEqual(approvalsIn(store), ["a"], "what was not acknowledged is not there")
    })
  )

  it.live("opens a new writer where the old one died, and says when it takes writes again", () =>
    Effect.gen(function* () {
      const { store, writer } = yield* openWithWriter
      yield* store.commit([insertApproval("a")])
      assert.isUndefined(store.failing())
      yield* Effect.promise(() => writer.terminate())
      yield* Effect.flip(store.commit([insertApproval("b")]))
      assert.strictEqual(store.failing()?.message, "the writer thread has ended")
      yield* store.writable
      assert.isUndefined(store.failing())
      yield* store.commit([insertApproval("c")])
      assert.deepStrictEqual(approvalsIn(store), ["a", "c"])
    })
  )

  it.live("opens in a writer thread that runs already, and replaces it by a new one when it has ended", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      const first = startWriterThread()
      assert.isFalse(existsSync(file), "a thread without a file touches nothing")
      const store = yield* Effect.provideService(open(file), FirstWriter, first)
      yield* store.commit([insertApproval("a")])
      first.close()
      assert.strictEqual(yield* Effect.promise(() => first.ended), "the writer thread has ended")
      yield* Effect.flip(store.commit([insertApproval("b")]))
      yield* store.writable
      yield* store.commit([insertApproval("c")])
      assert.deepStrictEqual(approvalsIn(store), ["a", "c"])
    })
  )

  it.live("reports slow commits of its writer thread", () =>
    Effect.gen(function* () {
      const first = startWriterThread()
      const store = yield* Effect.provideService(open(yield* databaseFile), FirstWriter, first)
      yield* store.commit([insertApproval("a")])
      assert.isUndefined(store.slowCommits())
      for (const tookMs of [60, 70, 80]) first.commitTimes.note(tookMs)
      const slow = store.slowCommits()
      assert.isDefined(slow)
      assert.deepStrictEqual(
        [slow.slow >= 3, slow.slowestMs >= 80, slow.commits > slow.slow],
        [true, true, true]
      )
    })
  )

  it.effect("ends a writer thread that receives no file", () =>
    Effect.gen(function* () {
      const thread = startWriterThread()
      thread.close()
      assert.strictEqual(yield* Effect.promise(() => thread.ended), "the writer thread has ended")
    })
  )

  it.live("closes also when its writer has died before", () =>
    Effect.gen(function* () {
      const { scope, writer } = yield* openWithWriter
      yield* Effect.promise(() => writer.terminate())
      yield* inTime(Scope.close(scope, Exit.void))
    })
  )

  it("keeps the rows of a store that has tables without row ids", () => {
    const db = new Database(":memory:")
    migrateEdgeStore(db, true, WITHOUT_ROW_IDS)
    const sizes = [10, 900, 1_100, 3_000, 9_000]
    for (const [i, size] of sizes.entries()) {
      const text = "x".repeat(size)
      db.prepare("INSERT INTO runs VALUES (?, 'failed', 'then', ?, ?, 'later', 'going')").run(
        `r${i}`,
        i,
        text
      )
      db.prepare("INSERT INTO approvals VALUES (?, 'run', 'pending', ?)").run(`a${i}`, text)
      db.prepare("INSERT INTO inputs VALUES (?, 'run', 'pending', ?)").run(`i${i}`, text)
    }
    const rows = () =>
      ["runs", "approvals", "inputs"].map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY id`).all())
    const indexes = () =>
      db
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
        .all()
    const before = { rows: rows(), indexes: indexes() }
    migrateEdgeStore(db, true, WITHOUT_ROW_IDS + 1)
    assert.deepStrictEqual({ rows: rows(), indexes: indexes() }, before)
    db.close()
  })

  it("notes the sessions of the runs of an earlier store, also next to a damaged row", () => {
    const db = new Database(":memory:")
    migrateEdgeStore(db, true, WITHOUT_SESSIONS)
    const insert = db.prepare(
      "INSERT INTO runs (id, state, created_at, last_seq, snapshot) VALUES (?, 'failed', 'then', 1, ?)"
    )
    insert.run("run_a", '{"sessionId":"ses_a"}')
    insert.run("run_b", "{}")
    insert.run("run_c", '{"sessionId')
    migrateEdgeStore(db)
    assert.deepStrictEqual(db.prepare("SELECT id, session_id AS session FROM runs ORDER BY id").all(), [
      { id: "run_a", session: "ses_a" },
      { id: "run_b", session: null },
      { id: "run_c", session: null }
    ])
    db.close()
  })

  it.effect("writes as many pages for a change of a long row as for that of a short one", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      const store = yield* open(file)
      /** Bytes that the log of the database grows by. */
      const written = Effect.fnUntraced(function* (size: number) {
        const id = `run-${size}`
        const snapshot = (state: string) => `${state}${"x".repeat(size)}`
        yield* store.commit([
          [
            "INSERT INTO runs (id, state, created_at, last_seq, snapshot) VALUES (?, 'running', 'then', 1, ?)",
            id,
            snapshot("running")
          ]
        ])
        const before = statSync(`${file}-wal`).size
        yield* store.commit([
          [
            "UPDATE runs SET state = 'waiting_approval', snapshot = ? WHERE id = ?",
            snapshot("waiting_approval"),
            id
          ]
        ])
        return statSync(`${file}-wal`).size - before
      })
      const short = yield* written(100)
      assert.strictEqual(yield* written(1_500), short)
      assert.strictEqual(yield* written(2_000), short)
    })
  )

  it.effect("refuses a database of a newer version, and leaves it as it was", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      yield* Effect.scoped(open(file))
      const db = new Database(file)
      const version = Number(db.pragma("user_version", { simple: true }))
      db.pragma(`user_version = ${version + 1}`)
      db.close()
      const { message } = yield* Effect.flip(Effect.scoped(open(file)))
      assert.include(message, file)
      assert.include(message, `of a newer version (${version + 1}) than this program supports (${version})`)
      assert.strictEqual(examineStore(dirname(file)), `${message}.`)
      const after = new Database(file)
      assert.strictEqual(after.pragma("user_version", { simple: true }), version + 1)
      after.pragma(`user_version = ${version}`)
      after.close()
      yield* open(file)
    })
  )

  it.effect("says so when the file is no database", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      mkdirSync(dirname(file))
      writeFileSync(file, "This is not a database, and long enough to be sure of it. ".repeat(20))
      const { message } = yield* Effect.flip(Effect.scoped(open(file)))
      assert.include(message, `${file}: file is not a database. Check the disk.`)
      assert.include(message, "restore edge.db from a backup")
    })
  )

  it.effect.each(["missing", "empty"])(
    "refuses a used home whose store is %s, and names both ways on",
    (state) =>
      Effect.gen(function* () {
        const file = yield* databaseFile
        const token = join(dirname(file), "edge.token")
        const used = () => Effect.scoped(Layer.build(Layer.fresh(Store.layer(file, token))))
        yield* used()
        writeFileSync(token, "token")
        yield* used()
        for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true })
        if (state === "empty") writeFileSync(file, "")
        const { message } = yield* Effect.flip(used())
        assert.strictEqual(
          message,
          `${file} is ${state}, but ${token} shows that this home was in use. ` +
            `Restore ${file} from a backup, or remove ${token} to start with an empty store and a new token.`
        )
        assert.strictEqual(existsSync(file), state === "empty", "nothing is created")
        rmSync(token)
        yield* used()
      })
  )

  it.effect.each<readonly [string, string, string]>([
    ["one byte", "x", " is empty, but "],
    ["no tables", "CREATE TABLE x (a); DROP TABLE x", " is empty, but "],
    ["the tables of another program", "CREATE TABLE notes (a)", ": the database is not a store of Corral. "],
    ["zeros", "\0".repeat(40_000), ": file is not a database. Check the disk. "],
    ["text", "x".repeat(40_000), ": file is not a database. Check the disk. "]
  ])("refuses a used home whose store has %s, and says what to do", ([, content, message]) =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      const token = join(dirname(file), "edge.token")
      mkdirSync(dirname(file))
      writeFileSync(token, "token")
      if (content.startsWith("CREATE")) new Database(file).exec(content).close()
      else writeFileSync(file, content)
      const { message: text } = yield* Effect.flip(
        Effect.scoped(Layer.build(Layer.fresh(Store.layer(file, token))))
      )
      assert.strictEqual(text.slice(0, file.length + message.length), `${file}${message}`)
    })
  )

  it.effect.each(["runs", "checksums"])(
    "refuses a store without the table %s, and says what to do",
    (table) =>
      Effect.gen(function* () {
        const file = yield* databaseFile
        yield* Effect.scoped(open(file))
        new Database(file).exec(`DROP TABLE ${table}`).close()
        const { message } = yield* Effect.flip(Effect.scoped(open(file)))
        assert.strictEqual(message, `${file}: the table ${table} is missing. ${RESTORE_HINT}`)
        assert.strictEqual(
          examineStore(dirname(file)),
          `${file} is damaged: the table ${table} is missing. ${RESTORE_HINT}`
        )
      })
  )

  it.effect("finds no fault in a store of an older version, which the next start migrates", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      yield* Effect.scoped(open(file))
      new Database(file).exec("DROP TABLE checksums; PRAGMA user_version = 1").close()
      assert.isUndefined(examineStore(dirname(file)))
    })
  )

  it.effect("says so when the file is a folder", () =>
    Effect.gen(function* () {
      const file = yield* databaseFile
      mkdirSync(file, { recursive: true })
      const { message } = yield* Effect.flip(Effect.scoped(open(file)))
      assert.strictEqual(message, `${file} is a folder. Move it away, or set another CORRAL_HOME.`)
      assert.strictEqual(examineStore(dirname(file)), message)
    })
  )
})
