import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { endsWithPlan, RunMode } from "../../src/approval/RunMode.ts"
import { planModeIssues } from "../../src/input/AnswerCheck.ts"

const mode = fc.constantFrom(...RunMode.literals)
const offered = fc.subarray([...RunMode.literals])

describe("planModeIssues", () => {
  it("name the mode exactly if the approval chooses one that is not offered", () => {
    fc.assert(
      fc.property(mode, fc.option(mode, { nil: undefined }), offered, (runMode, chosen, modes) => {
        const issues = planModeIssues(
          { approve: true, ...(chosen === undefined ? {} : { mode: chosen }) },
          runMode,
          modes
        )
        // A plan that another run has to carry out has the mode `ask` by default, if any mode can.
        const isDefault = chosen === undefined && endsWithPlan(runMode) && !modes.every(endsWithPlan)
        const effective = isDefault ? "ask" : chosen
        const isOffered = effective === undefined || modes.includes(effective)
        assert.deepStrictEqual(
          issues.map(({ path }) => path),
          isOffered ? [] : ["mode"]
        )
        for (const { message } of issues)
          for (const each of modes) assert.include(message, each, "the message names each choice")
      }),
      { numRuns: 500 * effort }
    )
  })

  it("are none for all other answers", () => {
    for (const answer of [
      { approve: false, mode: "full_access" },
      { decline: true },
      { answers: {} }
    ] as const)
      assert.deepStrictEqual(planModeIssues(answer, "plan", ["ask"]), [])
  })
})
