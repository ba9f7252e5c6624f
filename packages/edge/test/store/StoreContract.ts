/** What every store must do, on disk or in memory. A program that provides its own store runs these tests with it. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Fiber, Schema, type Scope } from "effect"
import { setImmediate } from "node:timers/promises"
import { StoreDamaged } from "../../src/store/StoreDamage.ts"
import type { Store, StoreFailed, Write } from "../../src/store/Store.ts"

export const insertApproval = (id: string): Write => [
  "INSERT INTO approvals (id, run_id, state, approval) VALUES (?, 'run', 'pending', '{}')",
  id
]
/** Too large for the event loop: the writer thread commits it. */
export const insertLargeApproval = (id: string): Write => [
  "INSERT INTO approvals (id, run_id, state, approval) VALUES (?, 'run', 'pending', ?)",
  id,
  "x".repeat(20_000)
]
export const brokenWrite: Write = ["INSERT INTO no_such_table VALUES (1)"]
export const approvalsIn = (store: Store["Service"]) =>
  store.all<{ readonly id: string }>("SELECT id FROM approvals ORDER BY id").map(({ id }) => id)

const insertBatch = (n: number, size = 0): Write => [
  "INSERT INTO events (run_id, first_seq, last_seq, lines) VALUES ('run', ?, ?, ?)",
  n,
  n,
  "x".repeat(size)
]

/** Turns of the event loop between two commits. */
const Pause = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))

/** `open` gives a new empty store. */
export const storeContract = (
  name: string,
  open: Effect.Effect<Store["Service"], StoreFailed, Scope.Scope>
): void => {
  describe(name, () => {
    it.effect("applies the writes of a commit together or not at all", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.commit([insertApproval("a"), insertApproval("b")])
        const failure = yield* Effect.flip(
          store.commit([insertApproval("c"), brokenWrite, insertApproval("d")])
        )
        assert.strictEqual(failure._tag, "StoreFailed")
        assert.include(failure.message, "no_such_table")
        yield* Effect.flip(store.commit([insertApproval("e"), insertApproval("a")]))
        yield* store.commit([["DELETE FROM approvals WHERE id = ?", "a"], insertApproval("f")])
        assert.deepStrictEqual(approvalsIn(store), ["b", "f"])
      })
    )

    it.effect("applies each of several concurrent commits, except for wrong ones", () =>
      Effect.gen(function* () {
        const store = yield* open
        const names = Array.from({ length: 60 }, (_, i) => `a${String(i).padStart(2, "0")}`)
        const isBad = (i: number) => i % 7 === 3
        const exits = yield* Effect.forEach(
          names,
          (id, i) =>
            Effect.exit(store.commit(isBad(i) ? [insertApproval(id), brokenWrite] : [insertApproval(id)])),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          exits.map(({ _tag }) => _tag),
          names.map((_, i) => (isBad(i) ? "Failure" : "Success"))
        )
        assert.deepStrictEqual(
          approvalsIn(store),
          names.filter((_, i) => !isBad(i))
        )
      })
    )

    it.effect("keeps the order in which commits were made", () =>
      Effect.gen(function* () {
        const store = yield* open
        const numbers = Array.from({ length: 200 }, (_, i) => i)
        yield* Effect.forEach(numbers, (n) => store.commit([insertBatch(n)]), { concurrency: "unbounded" })
        const rows = store.all<{ readonly last_seq: number }>("SELECT last_seq FROM events ORDER BY batch")
        assert.deepStrictEqual(
          rows.map((row) => row.last_seq),
          numbers
        )
      })
    )

    it.effect.prop(
      "keeps the order of small and large commits that are made at any moment",
      [
        Arbitrary.array(Arbitrary.all([Arbitrary.schema(Schema.Boolean), Arbitrary.schema(Pause)]), {
          maxLength: 40
        })
      ],
      ([commits]) =>
        Effect.scoped(
          Effect.gen(function* () {
            const store = yield* open
            const fibers: Array<Fiber.Fiber<void, StoreFailed>> = []
            for (const [n, [isLarge, pause]] of commits.entries()) {
              const commit = store.commit([insertBatch(n, isLarge ? 10_000 : 10)])
              fibers.push(yield* Effect.forkChild(commit, { startImmediately: true }))
              for (let i = 0; i < pause; i++) yield* Effect.promise(() => setImmediate())
            }
            yield* Fiber.joinAll(fibers)
            const rows = store.all<{ readonly last_seq: number }>(
              "SELECT last_seq FROM events ORDER BY batch"
            )
            assert.deepStrictEqual(
              rows.map((row) => row.last_seq),
              commits.map((_, n) => n)
            )
          })
        ),
      { arbitrary: { runs: 20 } }
    )

    it.effect("reads what is committed, row by row, and stops when the reader stops", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.commit([insertApproval("a"), insertApproval("b"), insertApproval("c")])
        assert.deepStrictEqual(store.get("SELECT id FROM approvals WHERE id = ?", "b"), { id: "b" })
        assert.isUndefined(store.get("SELECT id FROM approvals WHERE id = ?", "x"))
        for (let i = 0; i < 3; i++) {
          for (const row of store.each<{ readonly id: string }>("SELECT id FROM approvals ORDER BY id")) {
            assert.strictEqual(row.id, "a")
            break
          }
        }
        yield* store.commit([insertApproval("d")])
        assert.deepStrictEqual(approvalsIn(store), ["a", "b", "c", "d"])
      })
    )

    it.effect("accepts a commit while rows are read, which the reader does not see", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.commit([insertApproval("a"), insertApproval("b")])
        const seen: Array<string> = []
        for (const { id } of store.each<{ readonly id: string }>("SELECT id FROM approvals ORDER BY id")) {
          seen.push(id)
          yield* store.commit([insertApproval(`${id}2`)])
        }
        assert.deepStrictEqual(seen, ["a", "b"])
        assert.deepStrictEqual(approvalsIn(store), ["a", "a2", "b", "b2"])
      })
    )

    it.effect("starts empty, with every table", () =>
      Effect.gen(function* () {
        const [first, second] = [yield* open, yield* open]
        yield* first.commit([insertApproval("a")])
        assert.deepStrictEqual(approvalsIn(second), [])
      })
    )

    it.effect("is not failing because of a wrong commit", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* Effect.flip(store.commit([brokenWrite]))
        yield* store.commit([insertApproval("a")])
        yield* Effect.flip(store.commit([insertApproval("a")]))
        assert.isUndefined(store.failing())
        yield* store.writable
      })
    )

    it.effect("keeps the first reported damage", () =>
      Effect.gen(function* () {
        const store = yield* open
        assert.isUndefined(store.damage())
        store.reportDamage(new StoreDamaged({ message: "first" }))
        store.reportDamage(new StoreDamaged({ message: "second" }))
        assert.strictEqual(store.damage()?.message, "first")
      })
    )
  })
}
