import { assert, describe, it } from "@effect/vitest"
import { checkStepCosts, crowdedRun } from "@corral/testing/recordings/CrowdedRun"
import { draft } from "../../src/run/RunEvent.ts"
import { transition } from "../../src/run/RunMachine.ts"
import { accept, fold, initial, liveFieldsOf, MAX_OPEN_CALLS } from "../../src/run/RunState.ts"

const call = (n: number) =>
  draft("run.tool.call", { callId: `c${n}`, tool: "shell", label: "ls", status: "started" })

const withCalls = (count: number) => {
  let state = crowdedRun(0).reduce(fold, initial)
  for (let n = 0; n < count; n++) state = fold(state, call(n))
  return state
}

describe("RunState", () => {
  it("folds an event of any type with the same number of operations however much is open", () => {
    checkStepCosts(() => {
      let state = initial
      return (event) => {
        state = fold(state, event)
      }
    })
  })

  it("gives the live fields of a state with the same number of operations, but for the open questions", () => {
    checkStepCosts(() => {
      let state = initial
      return (event) => {
        state = fold(state, event)
        liveFieldsOf({ ...state, pendingInputs: { keys: () => [] } })
      }
    })
  })
})

describe("open calls", () => {
  it("refuses one call more than a run may have open", () => {
    const state = withCalls(MAX_OPEN_CALLS)
    assert.deepInclude(accept(state, call(MAX_OPEN_CALLS)), { ok: false, refusal: "too_many_calls" })
    const result = draft("run.tool.result", { callId: "c0", tool: "shell", status: "completed" })
    assert.isTrue(accept(fold(state, result), call(MAX_OPEN_CALLS)).ok)
  })

  it("fails the run of a runtime that opens one more", () => {
    const [state, actions] = transition(withCalls(MAX_OPEN_CALLS), {
      _tag: "EventEmitted",
      event: call(MAX_OPEN_CALLS)
    })
    assert.deepInclude(state.verdict?._tag === "Failed" ? state.verdict.error.details : {}, {
      reason: "too_many_calls"
    })
    assert.deepStrictEqual(
      actions.map(({ _tag }) => _tag),
      ["Stop"]
    )
    const [ended] = transition(state, { _tag: "Ended" })
    assert.strictEqual(ended.status, "failed")
    assert.strictEqual(ended.openCalls.size, 0)
  })
})
