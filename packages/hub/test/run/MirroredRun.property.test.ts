/** The Hub's fold of a log, batch by batch from rows, against the domain's fold of the whole of it. */
import { assert, describe, it } from "@effect/vitest"
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import type { EventDraft } from "@corral/domain/run/RunEvent"
import { type RunMachineInput, transition } from "@corral/domain/run/RunMachine"
import { fold, initial } from "@corral/domain/run/RunState"
import { Arbitrary, Effect, Schema } from "effect"
import { created, underWay } from "@corral/testing/recordings/RunInputs"
import { type MirroredRunRow, MirroredRun } from "../../src/run/MirroredRun.ts"
import { createRun, envelopeAt, newId } from "@corral/testing/hub/Mirror"
import { tries } from "@corral/testing/time/Effort"

/** The events that the run machine appends for these inputs. */
const eventsOf = (inputs: ReadonlyArray<RunMachineInput>): ReadonlyArray<EventDraft> => {
  let state = initial
  const events: Array<EventDraft> = []
  for (const input of inputs) {
    const [next, actions] = transition(state, input)
    state = next
    for (const action of actions) if (action._tag === "Append") events.push(action.event)
  }
  return events
}

const Sizes = Arbitrary.array(Arbitrary.schema(Schema.Literals([1, 2, 3, 7])), {
  minLength: 1,
  maxLength: 10
})
const Ends = Arbitrary.schema(Schema.Boolean)

describe("MirroredRun", () => {
  it.effect.prop(
    "gives the same state for every division of a log into batches",
    [underWay, Sizes, Ends],
    ([inputs, sizes, ends]) =>
      Effect.sync(() => {
        const runId = newId<RunId>("run")
        const start: RunMachineInput = { _tag: "Created", payload: created }
        const events = eventsOf([start, ...inputs, ...(ends ? [{ _tag: "Ended" } as const] : [])])
        const whole = events.reduce(fold, initial)
        let row: MirroredRunRow = {
          id: runId,
          agentId: createRun.agentId,
          workspace: createRun.workspace,
          state: "queued",
          isStarted: false,
          pending: [],
          summary: {}
        }
        const approvals = new Map<ApprovalId, Approval>()
        for (let at = 0, i = 0; at < events.length; i++) {
          const batch = events.slice(at, at + (sizes[i % sizes.length] ?? 1))
          const step = new MirroredRun(row)
          for (const [j, event] of batch.entries())
            assert.isTrue(step.apply(envelopeAt(runId, at + j + 1, event)), event.type)
          const { pending, isStarted, state, summary } = step
          const same = JSON.stringify([row.state, row.pending, row.isStarted, row.summary])
          // What is not said to have moved is not written.
          if (!step.hasChanged) assert.strictEqual(JSON.stringify([state, pending, isStarted, summary]), same)
          row = { ...row, state, isStarted, pending, summary }
          for (const approval of step.requestedApprovals.values()) approvals.set(approval.id, approval)
          for (const [id, resolved] of step.resolvedApprovals) {
            const response = approvals.get(id)
            assert.strictEqual(response?.state, "pending")
            if (response !== undefined) approvals.set(id, { ...response, ...resolved })
          }
          at += batch.length
        }
        assert.deepStrictEqual(
          [
            row.state,
            row.isStarted,
            row.pending,
            row.summary.usage,
            row.summary.resultText,
            row.summary.error,
            row.summary.model
          ],
          [
            whole.status,
            whole.started,
            whole.pending,
            whole.usage,
            whole.resultText,
            whole.error,
            whole.model
          ]
        )
        assert.deepStrictEqual(
          new Map(
            [...approvals].flatMap(([id, { state }]) => (state === "pending" ? [] : [[id, state] as const]))
          ),
          whole.resolved
        )
        assert.deepStrictEqual(
          [...approvals.values()].filter(({ state }) => state === "pending").map(({ id }) => id),
          [...whole.pending]
        )
      }),
    tries(100)
  )
})
