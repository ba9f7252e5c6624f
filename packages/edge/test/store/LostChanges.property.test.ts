/** The write-ahead log of a store whose process was killed: each cut, each flipped byte and its removal is noticed, and nothing else. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import Database from "better-sqlite3"
import { Effect } from "effect"
import * as fc from "fast-check"
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lostChanges } from "../../src/store/StoreDamage.ts"
import { Store } from "../../src/store/Store.ts"
import { openFolder } from "../Folder.ts"

const openStore = (file: string) => {
  const db = new Database(file)
  onTestFinished(() => void db.close())
  db.pragma("journal_mode = WAL")
  db.pragma("wal_autocheckpoint = 0")
  db.exec("CREATE TABLE IF NOT EXISTS rows (bytes BLOB)")
  const write = (bytes: number) => db.prepare("INSERT INTO rows VALUES (zeroblob(?))").run(bytes)
  return { db, write }
}

/** The files as a killed process leaves them. */
const copied = (file: string): string => {
  const copy = join(openFolder(), "edge.db")
  for (const end of ["", "-wal", "-shm"])
    if (existsSync(`${file}${end}`)) copyFileSync(`${file}${end}`, `${copy}${end}`)
  return copy
}

/** A store with rows in its log. */
const killedStore = (rows: ReadonlyArray<number> = [10, 5_000, 20_000]): string => {
  const file = join(openFolder(), "edge.db")
  const { write } = openStore(file)
  for (const bytes of rows) write(bytes)
  return copied(file)
}

describe("lostChanges", () => {
  it("finds nothing lost in generated stores whose process was killed", () => {
    const size = fc.integer({ min: 0, max: 30_000 })
    fc.assert(
      fc.property(
        fc.array(size, { maxLength: 8 }),
        fc.constantFrom("PASSIVE", "RESTART", "TRUNCATE"),
        fc.array(size, { maxLength: 4 }),
        (first, mode, second) => {
          const file = join(openFolder(), "edge.db")
          const { db, write } = openStore(file)
          for (const bytes of first) write(bytes)
          assert.isUndefined(lostChanges(copied(file)))
          db.pragma(`wal_checkpoint(${mode})`)
          assert.isUndefined(lostChanges(copied(file)))
          for (const bytes of second) write(bytes)
          assert.isUndefined(lostChanges(copied(file)))
        }
      ),
      { numRuns: 25 }
    )
  })

  it("notices every cut of the log", () => {
    const file = killedStore()
    const { length } = readFileSync(`${file}-wal`)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: length - 1 }), (size) => {
        const cut = copied(file)
        truncateSync(`${cut}-wal`, size)
        assert.match(lostChanges(cut) ?? "", /^The last changes of the store are lost/)
      }),
      { numRuns: 60, examples: [[0], [length - 1], [32], [32 + 24 + 4_096]] }
    )
  })

  it("notices every changed byte of the frames", () => {
    const file = killedStore()
    const log = readFileSync(`${file}-wal`)
    fc.assert(
      fc.property(
        fc.integer({ min: 32, max: log.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, change) => {
          const bytes = Buffer.from(log)
          bytes[at] = (bytes[at] ?? 0) ^ change
          writeFileSync(`${file}-wal`, bytes)
          assert.isDefined(lostChanges(file), `${at}`)
        }
      ),
      { numRuns: 60 }
    )
  })

  it("notices that the log was removed, unless the store's file has all of it", () => {
    const file = killedStore()
    rmSync(`${file}-wal`)
    assert.match(lostChanges(file) ?? "", /removed\.$/)
    const stored = join(openFolder(), "edge.db")
    const { db, write } = openStore(stored)
    write(10)
    db.pragma("wal_checkpoint(PASSIVE)")
    const copy = copied(stored)
    rmSync(`${copy}-wal`)
    assert.isUndefined(lostChanges(copy))
  })

  it("takes no older or damaged index for a proof", () => {
    const file = join(openFolder(), "edge.db")
    const { db, write } = openStore(file)
    write(10)
    const index = readFileSync(`${file}-shm`)
    db.pragma("wal_checkpoint(RESTART)")
    write(20)
    const copy = copied(file)
    writeFileSync(`${copy}-shm`, index)
    assert.isUndefined(lostChanges(copy))
    rmSync(`${copy}-wal`)
    for (const bytes of [
      Buffer.alloc(0),
      index.subarray(0, 90),
      Buffer.alloc(32_768),
      Buffer.from(index).fill(1, 0, 4)
    ]) {
      writeFileSync(`${copy}-shm`, bytes)
      assert.isUndefined(lostChanges(copy))
    }
  })

  it.live("is said by the store that opens", () =>
    Effect.gen(function* () {
      const file = join(openFolder(), "edge.db")
      const lost = Effect.map(Store, (store) => store.lost)
      assert.isUndefined(yield* Effect.provide(lost, Store.layer(file)))
      const written = Effect.gen(function* () {
        const store = yield* Store
        yield* store.commit([["INSERT INTO probe (bytes) VALUES (zeroblob(10))"]])
        return copied(file)
      })
      const killed = yield* Effect.provide(written, Store.layer(file))
      const cut = copied(killed)
      assert.isUndefined(yield* Effect.provide(lost, Store.layer(killed)))
      truncateSync(`${cut}-wal`, 0)
      assert.match((yield* Effect.provide(lost, Store.layer(cut))) ?? "", /was cut/)
    })
  )
})
