import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { Effect } from "effect"
import { join } from "node:path"
import { DirectCommits } from "../../src/store/WriterLink.ts"
import type { Job } from "../../src/store/JobTransaction.ts"
import { migrateEdgeStore } from "../../src/store/migrations.ts"
import { temporaryFolder } from "../Folder.ts"
import { brokenWrite, insertApproval, insertLargeApproval } from "./StoreContract.ts"

/** A store's file, commits of it on this thread, a clock, and another connection. */
const opened = Effect.gen(function* () {
  const file = join(yield* temporaryFolder, "edge.db")
  const other = yield* Effect.acquireRelease(
    Effect.sync(() => new Database(file)),
    (db) => Effect.sync(() => db.close())
  )
  other.pragma("journal_mode = WAL")
  migrateEdgeStore(other)
  const clock = { now: 0 }
  const direct = yield* Effect.acquireRelease(
    Effect.sync(() => new DirectCommits(file, () => clock.now)),
    (commits) => Effect.sync(() => commits.close())
  )
  const ids = () => other.prepare("SELECT id FROM approvals ORDER BY id").pluck().all()
  return { clock, direct, ids, other, file }
})

/** A job during which the clock advances by that time. */
const jobOf = (id: string, clock: { now: number }, milliseconds: number): Job => {
  const [sql, ...params] = insertApproval(id)
  const write = [sql, ...params] as const
  return Object.defineProperty([write], "forEach", {
    value: (apply: (each: typeof write) => void) => {
      apply(write)
      clock.now += milliseconds
    }
  })
}

describe("DirectCommits", () => {
  it.effect("commits a small job durably, for other connections to read", () =>
    Effect.gen(function* () {
      const { direct, ids } = yield* opened
      assert.isTrue(direct.commit([insertApproval("a")]))
      assert.deepStrictEqual(ids(), ["a"])
    })
  )

  it.effect("leaves a large job to the thread", () =>
    Effect.gen(function* () {
      const { direct, ids } = yield* opened
      assert.isFalse(direct.commit([insertLargeApproval("a")]))
      assert.isFalse(
        direct.commit(Array.from({ length: 400 }, (_, i) => insertApproval(`approval-of-a-long-name-${i}`)))
      )
      assert.deepStrictEqual(ids(), [])
      assert.isTrue(direct.commit([insertApproval("b")]))
    })
  )

  it.effect.each<readonly [string, number, number]>([
    ["as long as the commit took", 1.5, 1.5],
    ["fifty times as long as a slow commit took", 40, 2_000]
  ])("pauses %s", ([, took, pause]) =>
    Effect.gen(function* () {
      const { clock, direct, ids } = yield* opened
      assert.isTrue(direct.commit(jobOf("a", clock, took)))
      clock.now += pause - 0.1
      assert.isFalse(direct.commit([insertApproval("b")]))
      clock.now += 0.2
      assert.isTrue(direct.commit([insertApproval("c")]))
      assert.deepStrictEqual(ids(), ["a", "c"])
    })
  )

  it.effect("applies nothing of a job that fails, and pauses", () =>
    Effect.gen(function* () {
      const { clock, direct, ids } = yield* opened
      assert.isFalse(direct.commit([insertApproval("a"), brokenWrite]))
      clock.now += 9_999
      assert.isFalse(direct.commit([insertApproval("b")]))
      clock.now += 2
      assert.isTrue(direct.commit([insertApproval("c")]))
      assert.deepStrictEqual(ids(), ["c"])
    })
  )

  it.effect("does not wait for another connection that writes", () =>
    Effect.gen(function* () {
      const { direct, ids, other } = yield* opened
      other.exec("BEGIN IMMEDIATE")
      assert.isFalse(direct.commit([insertApproval("a")]))
      other.exec("COMMIT")
      assert.deepStrictEqual(ids(), [])
    })
  )

  it.effect("leaves a job to the thread after 64 commits, so that it checkpoints", () =>
    Effect.gen(function* () {
      const { direct } = yield* opened
      const commit = (id: string) => direct.commit([insertApproval(id)])
      const durable = Array.from({ length: 64 }, (_, i) => commit(`${i}`))
      assert.isTrue(durable.every((is) => is))
      assert.isFalse(commit("a"))
      assert.isFalse(commit("b"))
      direct.sentToThread()
      assert.isTrue(commit("c"))
    })
  )

  it.effect("creates no file, and commits nothing after its end", () =>
    Effect.gen(function* () {
      const { direct, file, ids } = yield* opened
      assert.isFalse(new DirectCommits(`${file}.missing`).commit([insertApproval("a")]))
      direct.close()
      assert.isFalse(direct.commit([insertApproval("b")]))
      assert.deepStrictEqual(ids(), [])
    })
  )
})
