import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { draft, type EventDraft } from "../../src/run/RunEvent.ts"
import { transition, type RunMachineInput } from "../../src/run/RunMachine.ts"
import { initial, type RunState } from "../../src/run/RunState.ts"
import type { Outcome } from "../../src/run/RuntimeAdapter.ts"
import { anyInput, created } from "@corral/testing/recordings/RunInputs"
import { effort } from "@corral/testing/time/Effort"

const runs = { arbitrary: { runs: 300 * effort, size: 40 } }

const failed = (details?: Readonly<Record<string, unknown>>): Outcome => ({
  _tag: "Failed",
  error: { code: "runtime_unavailable", message: "It failed.", ...(details === undefined ? {} : { details }) }
})

/** Outcomes of a runtime that name no cause. */
const unexplained: ReadonlyArray<Outcome> = [
  { _tag: "Cancelled" },
  { _tag: "Cancelled", reason: "interrupted" },
  failed(),
  ...["agent_failed", "crashed", "needs_permission", "no_result", "runtime_error", "script_failed"].map(
    (reason) => failed({ reason })
  ),
  failed({ reason: "crashed", exitCode: 1 })
]

/** Outcomes of a runtime with a known cause, or without a failure. */
const explained: ReadonlyArray<Outcome> = [
  { _tag: "Completed", text: "Done." },
  { _tag: "Completed" },
  ...["rate_limited", "server_error", "bad_credentials", "max_turns", "unreachable"].map((reason) =>
    failed({ reason })
  ),
  failed({ reason: "runtime_error", status: 500 }),
  failed({ reason: "crashed", signal: "SIGKILL" })
]

const outcomes = [...unexplained, ...explained]
const anyOutcome = Arbitrary.map(
  Arbitrary.schema(Schema.Literals(outcomes.map((_, at) => at))),
  (at) => outcomes[at] ?? { _tag: "Completed" as const }
)

const system: RunMachineInput = {
  _tag: "EventEmitted",
  event: draft("run.message.completed", { messageId: "s", role: "system", channel: "text", text: "Info" })
}

/** Inputs of a run that neither ends nor is stopped from outside. */
const live = Arbitrary.map(
  Arbitrary.array(anyInput, { maxLength: 40 }),
  (inputs): ReadonlyArray<RunMachineInput> =>
    inputs.filter(
      (input) =>
        ![
          "Ended",
          "OutcomeReported",
          "CancelRequested",
          "FailureImposed",
          "TimedOut",
          "WorkChanged",
          "InputAnswered"
        ].includes(input._tag) && !(input._tag === "ApprovalDecided" && input.answer.decision === "cancel")
    )
)

const eventsOf = (inputs: ReadonlyArray<RunMachineInput>): ReadonlyArray<EventDraft> => {
  let state: RunState = initial
  const events: Array<EventDraft> = []
  for (const input of [{ _tag: "Created", payload: created } as const, ...inputs]) {
    const [next, actions] = transition(state, input)
    state = next
    for (const action of actions) if (action._tag === "Append") events.push(action.event)
  }
  return events
}

/** What a reader of the log concludes: the last approval that was not allowed, unless the runtime did something after it. */
const rejectionIn = (events: ReadonlyArray<EventDraft>) => {
  const isRejection = (event: EventDraft) =>
    event.type === "run.approval.resolved" && ["denied", "expired"].includes(event.payload.state)
  const last = events.findLastIndex(isRejection)
  const continues = events
    .slice(last + 1)
    .some(({ type }) =>
      ["run.message.delta", "run.tool.call", "run.approval.requested", "run.input.requested"].includes(type)
    )
  const found = events[last]
  return continues || found?.type !== "run.approval.resolved" ? undefined : found.payload
}

describe("a run whose runtime stops", () => {
  it.prop(
    "fails as approval_rejected exactly where a rejection is the last thing the runtime learned",
    [live, anyOutcome],
    ([inputs, outcome]) => {
      const before = eventsOf(inputs)
      const rejection = rejectionIn(before)
      const events = eventsOf([...inputs, system, { _tag: "OutcomeReported", outcome }, { _tag: "Ended" }])
      const last = events.at(-1)
      if (rejection === undefined || explained.includes(outcome)) {
        assert.strictEqual(last?.type, `run.${outcome._tag.toLowerCase()}`)
        if (outcome._tag === "Failed") assert.deepInclude(last?.payload, { error: outcome.error })
        return
      }
      assert(last?.type === "run.failed")
      const { code, details } = last.payload.error
      assert.strictEqual(code, "approval_rejected")
      assert.deepInclude(details, { approvalId: rejection.approvalId, state: rejection.state })
    },
    runs
  )

  it.prop(
    "ends cancelled when the decision was to cancel, regardless of the runtime's outcome",
    [live, anyOutcome],
    ([inputs, outcome]) => {
      const pending = eventsOf(inputs).reduce<ReadonlyArray<string>>((open, event) => {
        if (event.type === "run.approval.requested") return [...open, event.payload.approvalId]
        return event.type === "run.approval.resolved"
          ? open.filter((id) => id !== event.payload.approvalId)
          : open
      }, [])
      const requested = inputs.find(
        (input) => input._tag === "ApprovalRequested" && input.approvalId === pending[0]
      )
      if (requested?._tag !== "ApprovalRequested") return
      const cancel: RunMachineInput = {
        _tag: "ApprovalDecided",
        approvalId: requested.approvalId,
        answer: { decision: "cancel", scope: "once" }
      }
      const events = eventsOf([...inputs, cancel, { _tag: "OutcomeReported", outcome }, { _tag: "Ended" }])
      assert.strictEqual(events.at(-1)?.type, "run.cancelled")
    },
    runs
  )
})

describe("run.approval.resolved", () => {
  it.prop(
    "carries what was decided, where, for how long and with which edit",
    [live],
    ([inputs]) => {
      const decided = new Map<string, Extract<RunMachineInput, { readonly _tag: "ApprovalDecided" }>>()
      let state: RunState = initial
      for (const input of [{ _tag: "Created", payload: created } as const, ...inputs]) {
        if (input._tag === "ApprovalDecided" && state.pending.has(input.approvalId))
          decided.set(input.approvalId, input)
        state = transition(state, input)[0]
      }
      for (const event of eventsOf(inputs)) {
        if (event.type !== "run.approval.resolved") continue
        const input = decided.get(event.payload.approvalId)
        const { allowedInput, by, decision, edited, origin, requestedInput, scope } = event.payload
        assert.deepStrictEqual(
          { allowedInput, by, decision, edited, origin, requestedInput, scope },
          input === undefined
            ? {
                allowedInput: undefined,
                by: undefined,
                decision: undefined,
                edited: undefined,
                origin: undefined,
                requestedInput: undefined,
                scope: undefined
              }
            : {
                allowedInput: input.edit?.allowedInput,
                by: "a person",
                decision: input.answer.decision,
                edited: input.edit !== undefined,
                origin: input.origin,
                requestedInput: input.edit?.requestedInput,
                scope: input.answer.scope
              }
        )
      }
    },
    runs
  )
})
