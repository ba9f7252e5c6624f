import type { Run, RunStatus } from "@corral/domain/run/Run"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { continuationFailures } from "@corral/domain/run/Continuation"
import * as fc from "fast-check"
import {
  findRun,
  insertRun,
  pageOfRuns,
  replacementRows,
  unfinishedRuns,
  updateRun
} from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { later, runIdOf, runOf } from "../Samples.ts"

const states: ReadonlyArray<RunStatus> = [
  "created",
  "starting",
  "running",
  "waiting_approval",
  "completed",
  "failed",
  "cancelled"
]

/** Oldest first. */
const runs: ReadonlyArray<Run> = Array.from({ length: 28 }, (_, n) =>
  runOf(runIdOf(n * 1_000), { state: states[n % states.length] ?? "created", lastSeq: n })
)

const filled = Layer.effectDiscard(Effect.flatMap(Store, (store) => store.commit(runs.map(insertRun)))).pipe(
  Layer.provideMerge(Store.layerMemory)
)

layer(filled)("Runs", (it) => {
  it.effect("pages newest first, each once, in any state and at any page size", () =>
    Effect.gen(function* () {
      const store = yield* Store
      for (const state of [undefined, ...states]) {
        const expected = runs.filter((run) => state === undefined || run.state === state).toReversed()
        for (const limit of [1, 3, 28, 100]) {
          const seen: Array<Run> = []
          for (let before: string | undefined; ;) {
            const page = pageOfRuns(store, { state, before, limit })
            assert.isAtMost(page.length, limit)
            if (page.length === 0) break
            seen.push(...page)
            before = page.at(-1)?.id
          }
          assert.deepStrictEqual(seen, expected)
        }
      }
    })
  )

  it.effect("is not confused by a run that comes between two pages", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const first = pageOfRuns(store, { limit: 5 })
      const newest = runOf(runIdOf(1_000_000))
      yield* store.commit([insertRun(newest)])
      const second = pageOfRuns(store, { before: first.at(-1)?.id, limit: 5 })
      assert.deepStrictEqual([...first, ...second], runs.toReversed().slice(0, 10))
      assert.deepStrictEqual(pageOfRuns(store, { limit: 1 }), [newest])
      yield* store.commit([["DELETE FROM runs WHERE id = ?", newest.id]])
    })
  )

  it.effect("gives those that nothing has ended", () =>
    Effect.gen(function* () {
      const store = yield* Store
      assert.deepStrictEqual(
        unfinishedRuns(store),
        runs.filter(({ state }) => !["completed", "failed", "cancelled"].includes(state))
      )
    })
  )

  it.effect("finds a run as it was last written", () =>
    Effect.gen(function* () {
      const store = yield* Store
      const [first] = runs
      assert(first !== undefined)
      assert.deepStrictEqual(findRun(store, first.id), first)
      assert.isUndefined(findRun(store, runIdOf(1)))
      const moved: Run = { ...first, state: "completed", lastSeq: 9, endedAt: later, resultText: "Done." }
      yield* store.commit([updateRun(moved)])
      assert.deepStrictEqual(findRun(store, first.id), moved)
      assert.include(
        pageOfRuns(store, { state: "completed", limit: 100 }).map(({ id }) => id),
        first.id
      )
      yield* store.commit([updateRun(first)])
    })
  )
})

/** A run of a generated history, before it has an id. */
const anyRun = fc.record({
  sessionId: fc.constantFrom("ses_1", "ses_2", undefined),
  isResumed: fc.boolean(),
  end: fc.constantFrom("completed", "running", "refused", ...continuationFailures)
})

layer(Store.layerMemory)("runs that another run replaces", (it) => {
  it.effect("are left out of every list, of any state, at any page size, unless the list asks for them", () =>
    Effect.gen(function* () {
      const store = yield* Store
      for (const drafts of fc.sample(fc.array(anyRun, { maxLength: 12 }), 60)) {
        yield* store.commit([["DELETE FROM runs"]])
        /** The run that replaces each, by the rule in words. */
        const expected = new Map<string, string>()
        const history: Array<Run> = []
        for (const [nth, { end, isResumed, sessionId }] of drafts.entries()) {
          const isFailed = end !== "completed" && end !== "running"
          const run = runOf(runIdOf(nth * 1_000), {
            state: isFailed ? "failed" : (end as RunStatus),
            ...(sessionId === undefined ? {} : { sessionId: sessionId as never }),
            ...(isResumed ? { resume: runIdOf(999_000) } : {}),
            ...(isFailed
              ? { error: { code: "runtime_unavailable", message: "Lost.", details: { reason: end } } }
              : {})
          })
          const before = history.findLast((each) => each.sessionId === sessionId)
          const isLost = continuationFailures.includes(String(before?.error?.details?.["reason"]))
          if (sessionId !== undefined && !isResumed && isLost && before?.resume !== undefined)
            expected.set(before.id, run.id)
          yield* store.commit([insertRun(run), ...replacementRows(store, run)])
          history.push(run)
        }
        const newestFirst = history.toReversed()
        for (const state of [undefined, "failed", "completed"] as const)
          for (const replaced of [true, false])
            for (const limit of [1, 3, 100]) {
              const seen: Array<Run> = []
              for (let before: string | undefined; ;) {
                const page = pageOfRuns(store, { state, replaced, before, limit })
                if (page.length === 0) break
                seen.push(...page)
                before = page.at(-1)?.id
              }
              assert.deepStrictEqual(
                seen.map(({ id, replacedBy }) => [id, replacedBy]),
                newestFirst
                  .filter((run) => state === undefined || run.state === state)
                  .filter(({ id }) => replaced || !expected.has(id))
                  .map(({ id }) => [id, expected.get(id)])
              )
            }
      }
    })
  )
})
