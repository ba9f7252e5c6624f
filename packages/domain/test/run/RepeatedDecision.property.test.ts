/** A second decision on an approval: the same one is fine, every other one is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Decision, DecisionScope } from "../../src/approval/Approval.ts"
import { transition, type RunMachineInput } from "../../src/run/RunMachine.ts"
import { initial, type RunState } from "../../src/run/RunState.ts"
import { approvalIds, created, edit, request } from "@corral/testing/recordings/RunInputs"
import { tries } from "@corral/testing/time/Effort"

const [approvalId = assert.fail("no id")] = approvalIds
const Answer = Schema.Struct({ decision: Decision, scope: DecisionScope, isEdited: Schema.Boolean })

const decided = ({ decision, isEdited, scope }: typeof Answer.Type): RunMachineInput => ({
  _tag: "ApprovalDecided",
  approvalId,
  by: "someone",
  answer: { decision, scope, ...(isEdited ? { updatedInput: edit.allowedInput } : {}) },
  ...(isEdited ? { edit } : {})
})

const requested = (): RunState => {
  const inputs: ReadonlyArray<RunMachineInput> = [
    { _tag: "Created", payload: created },
    { _tag: "Spawned" },
    {
      _tag: "ApprovalRequested",
      approvalId,
      request: request({ editable: true }),
      expiresAt: "2026-11-22T00:00:00.000Z"
    }
  ]
  return inputs.reduce((state, input) => transition(state, input)[0], initial)
}

describe("a second decision", () => {
  it.prop(
    "succeeds only where neither decision changed the input and both decide the same",
    [Answer, Answer],
    ([first, second]) => {
      const [state] = transition(requested(), decided(first))
      const [after, actions] = transition(state, decided(second))
      const isSame = first.decision === second.decision && !first.isEdited && !second.isEdited
      assert.strictEqual(after, state, "it changes nothing")
      assert.deepStrictEqual(
        actions.map(({ _tag }) => _tag),
        isSame ? [] : ["Refuse"]
      )
    },
    tries(200)
  )
})
