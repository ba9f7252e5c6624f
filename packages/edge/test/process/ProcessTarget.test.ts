import { assert, describe, it } from "@effect/vitest"
import { tries } from "@corral/testing/time/Effort"
import { Schema } from "effect"
import type { Survivors } from "../../src/process/MarkSearch.ts"
import { type ProcessTarget, sweepTarget } from "../../src/process/ProcessSweep.ts"

/** A number above the largest of a process: signals for it reach none. */
const NO_PROCESS = 2 ** 22 + 1
const nothing: Survivors = { pids: [], certain: true }
const missing = "/sys/fs/cgroup/corral-none"

/** Drives a sweep with these answers, then with searches that find nothing. Returns the number of searches. */
const searchesOf = (target: ProcessTarget, answers: ReadonlyArray<Survivors>): number => {
  const steps = sweepTarget(target)
  let searches = 0
  let found: Survivors | undefined
  for (;;) {
    const { done, value } = steps.next(found)
    found = undefined
    if (done === true) return searches
    if (value._tag === "Search") found = answers[searches++] ?? nothing
  }
}

const Answers = Schema.Array(Schema.Struct({ isFound: Schema.Boolean, certain: Schema.Boolean })).check(
  Schema.isMaxLength(8)
)

describe("sweepTarget", () => {
  it("makes one search if nothing is left", () => {
    assert.strictEqual(searchesOf({ mark: "a=b" }, []), 1)
    assert.strictEqual(searchesOf({ mark: "a=b", groups: [missing] }, []), 1)
  })

  it("makes none for processes that cannot leave their empty groups", () => {
    assert.strictEqual(searchesOf({ mark: "a=b", groups: [missing], isEnclosed: true }, []), 0)
  })

  it("searches if there is no group that proves the end", () => {
    assert.strictEqual(searchesOf({ mark: "a=b", groups: [], isEnclosed: true }, []), 1)
    assert.strictEqual(searchesOf({ mark: "a=b", isEnclosed: true }, []), 1)
  })

  it.prop(
    "ends after a search that is certain and finds nothing, or two in a row after a process was found",
    [Answers],
    ([answers]) => {
      const script = answers.map(({ certain, isFound }) => ({ certain, pids: isFound ? [NO_PROCESS] : [] }))
      const searches = searchesOf({ mark: "a=b" }, script)
      const results = [...script, nothing, nothing, nothing].slice(0, searches)
      const found = results.findLastIndex(({ pids }) => pids.length > 0)
      const needed = found === -1 ? 1 : 2
      const after = results.slice(found + 1)
      const isProven = after.slice(-needed).every(({ certain }) => certain) && after.length >= needed
      // A machine that is never quiet is not searched for ever.
      assert.isTrue(isProven || after.length >= (found === -1 ? 4 : 12), `${searches} searches`)
    },
    tries(200)
  )
})
