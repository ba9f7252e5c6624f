import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { Decision, DecisionScope } from "../../src/approval/Approval.ts"
import { isTerminal, isTerminalType } from "../../src/run/RunEnd.ts"
import type { EventDraft } from "../../src/run/RunEvent.ts"
import {
  isSettling,
  transition,
  type TransitionAction,
  type RunMachineInput
} from "../../src/run/RunMachine.ts"
import { accept, fold, initial, type RunState } from "../../src/run/RunState.ts"
import {
  anyInput,
  approvalIds,
  atWork,
  created,
  inputIds,
  request,
  underWay
} from "@corral/testing/recordings/RunInputs"
import { effort } from "@corral/testing/time/Effort"

const runs = { arbitrary: { runs: 150 * effort, size: 40 } }

interface Played {
  readonly state: RunState
  readonly actions: ReadonlyArray<TransitionAction>
  readonly events: ReadonlyArray<EventDraft>
}

const eventsOf = (actions: ReadonlyArray<TransitionAction>): ReadonlyArray<EventDraft> =>
  actions.flatMap((action) => (action._tag === "Append" ? [action.event] : []))

/** A created run and what came of the inputs; `each` sees the state after every one. */
const play = (
  inputs: ReadonlyArray<RunMachineInput>,
  each: (state: RunState) => void = () => undefined
): Played => {
  let state = initial
  const actions: Array<TransitionAction> = []
  const start: RunMachineInput = { _tag: "Created", payload: created }
  for (const input of [start, ...inputs]) {
    const [next, more] = transition(state, input)
    state = next
    actions.push(...more)
    each(state)
  }
  return { state, actions, events: eventsOf(actions) }
}

const ended: RunMachineInput = { _tag: "Ended" }
const inputs = Arbitrary.array(anyInput, { maxLength: 60 })
/** Half of them runs that go through several turns. */
const inputsOrWork = Arbitrary.flatMap(Arbitrary.schema(Schema.Boolean), (isAtWork) =>
  isAtWork ? atWork : inputs
)

const countOf = (events: ReadonlyArray<EventDraft>, belongs: (event: EventDraft) => boolean): number =>
  events.filter(belongs).length

/** What a reader sees of a run. `starting` is known to the actor alone: no event says it. */
const visible = ({
  status,
  pending,
  pendingInputs,
  outstanding,
  turn,
  isIdle,
  openCalls,
  usage,
  error,
  resultText,
  runtimeSessionId,
  model,
  paused
}: RunState) => ({
  pendingInputs: pendingInputs.entries(),
  outstanding: outstanding.entries(),
  turn,
  isIdle,
  paused,
  status: status === "starting" ? "created" : status,
  pending: pending.keys(),
  openCalls: openCalls.entries(),
  usage,
  error,
  resultText,
  runtimeSessionId,
  model
})

describe("RunMachine", () => {
  it.prop(
    "writes nothing that a fresh fold of the log so far would refuse",
    [inputs],
    ([sequence]) => {
      let state = initial
      for (const event of play(sequence).events) {
        const next = accept(state, event)
        assert(next.ok, `${event.type}: ${next.ok ? "" : next.refusal}`)
        state = next.state
      }
    },
    runs
  )

  it.prop(
    "shows what its own log folds to, after every input",
    [inputsOrWork],
    ([sequence]) => {
      let seen = initial
      let state = initial
      for (const input of [{ _tag: "Created", payload: created } as const, ...sequence]) {
        const [next, actions] = transition(state, input)
        state = next
        seen = eventsOf(actions).reduce(fold, seen)
        // A resolved approval of a run that has not started leaves both in the same state.
        assert.deepStrictEqual(visible(seen), visible(state))
      }
    },
    runs
  )

  it.prop(
    "has exactly one terminal event after `Ended`, always the last",
    [inputs],
    ([sequence]) => {
      const { state, events } = play([...sequence, ended])
      assert(state.status !== undefined && isTerminal(state.status))
      assert.strictEqual(
        countOf(events, ({ type }) => isTerminalType(type)),
        1
      )
      assert.strictEqual(events.at(-1)?.type, `run.${state.status}`)
    },
    runs
  )

  it.prop(
    "has no terminal event before `Ended`",
    [underWay],
    ([sequence]) => {
      const { events } = play(sequence)
      assert.strictEqual(
        countOf(events, ({ type }) => isTerminalType(type)),
        0
      )
    },
    runs
  )

  it.prop(
    "writes nothing and does nothing after its end",
    [inputs, inputs],
    ([before, after]) => {
      let { state } = play([...before, ended])
      for (const input of after) {
        const [next, actions] = transition(state, input)
        assert.strictEqual(next, state)
        assert.deepStrictEqual(
          actions.filter(({ _tag }) => _tag !== "Refuse"),
          []
        )
        state = next
      }
    },
    runs
  )

  it.prop(
    "waits for approval exactly while approvals pend",
    [inputs],
    ([sequence]) => {
      play(sequence, ({ status, pending }) =>
        assert.strictEqual(status === "waiting_approval", pending.size > 0)
      )
    },
    runs
  )

  it.prop(
    "waits for input exactly while questions and no approvals pend",
    [inputs],
    ([sequence]) => {
      play(sequence, ({ pending, pendingInputs, status }) =>
        assert.strictEqual(status === "waiting_input", pending.size === 0 && pendingInputs.size > 0)
      )
    },
    runs
  )

  it.prop(
    "asks a question once and resolves it once, all before the end",
    [inputs],
    ([sequence]) => {
      const { events } = play([...sequence, ended])
      for (const id of inputIds) {
        const types = events.flatMap((event) =>
          (event.type === "run.input.requested" || event.type === "run.input.resolved") &&
          event.payload.inputId === id
            ? [event.type]
            : []
        )
        assert.deepStrictEqual(types, types.length === 0 ? [] : ["run.input.requested", "run.input.resolved"])
      }
    },
    runs
  )

  it.prop(
    "gives the runtime a choice only where a person has answered, and says so in the log",
    [inputsOrWork],
    ([sequence]) => {
      let state = play([]).state
      for (const input of [...sequence, ended]) {
        const [next, actions] = transition(state, input)
        for (const action of actions) {
          if (action._tag !== "Respond" || action.response._tag === "Unanswered") continue
          assert(input._tag === "InputAnswered" && input.inputId === action.inputId)
          const logged = eventsOf(actions).find(({ type }) => type === "run.input.resolved")
          assert(logged?.type === "run.input.resolved")
          assert.strictEqual(logged.payload.state, "answered")
          assert.strictEqual(logged.payload.by, input.by)
        }
        state = next
      }
    },
    runs
  )

  it.prop(
    "responds once to each question that the runtime does not withdraw",
    [inputsOrWork],
    ([sequence]) => {
      const { actions, events } = play([...sequence, ended])
      for (const id of inputIds) {
        const resolved = events.flatMap((event) =>
          event.type === "run.input.resolved" && event.payload.inputId === id ? [event.payload.state] : []
        )
        const isWithdrawn = resolved.some((state) => state === "withdrawn" || state === "self_answered")
        const responses = actions.filter((action) => action._tag === "Respond" && action.inputId === id)
        // A question while the run is ending: nothing is appended, and the runtime stops waiting.
        const unwritten = responses.filter(
          (action) =>
            action._tag === "Respond" &&
            action.response._tag === "Unanswered" &&
            action.response.reason === "The run is ending."
        )
        assert.strictEqual(responses.length - unwritten.length, resolved.length === 0 || isWithdrawn ? 0 : 1)
      }
    },
    runs
  )

  it.prop(
    "starts and ends each work in turn, and has ended it before the end of the run",
    [inputsOrWork],
    ([sequence]) => {
      const { events } = play([...sequence, ended])
      const running = new Set<string>()
      for (const event of events) {
        if (event.type === "run.work.started") {
          assert.isFalse(running.has(event.payload.workId))
          running.add(event.payload.workId)
        } else if (event.type === "run.work.ended") assert.isTrue(running.delete(event.payload.workId))
      }
      assert.strictEqual(running.size, 0)
    },
    runs
  )

  it.prop(
    "completes no run whose work was cut, unless a person finished it or approved its plan",
    [inputsOrWork],
    ([sequence]) => {
      const { events } = play([...sequence, ended])
      const last = events.at(-1)
      if (last?.type !== "run.completed") return
      for (const event of events) {
        if (event.type === "run.work.ended") assert.notStrictEqual(event.payload.state, "unfinished")
      }
    },
    runs
  )

  it.prop(
    "numbers turns densely, and each ends before the next starts",
    [inputsOrWork],
    ([sequence]) => {
      const turns = play([...sequence, ended]).events.flatMap((event) =>
        event.type === "run.turn.started" || event.type === "run.turn.ended"
          ? [`${event.type} ${event.payload.turn}`]
          : []
      )
      const expected = turns.map((_, at) =>
        at % 2 === 0 ? `run.turn.ended ${at / 2 + 1}` : `run.turn.started ${(at + 3) / 2}`
      )
      assert.deepStrictEqual(turns, expected)
    },
    runs
  )

  it.prop(
    "holds an outcome exactly while something is left that it waits for",
    [inputsOrWork],
    ([sequence]) => {
      play(sequence, (state) => {
        if (state.held === undefined || state.verdict !== undefined) return
        assert.isTrue(state.isIdle)
        assert(
          state.outstanding.size > 0 || state.pendingInputs.size > 0 || state.isTurnDue === true,
          "nothing is left to wait for"
        )
      })
    },
    runs
  )

  it.prop(
    "lets the outcome count when no turn follows",
    [inputsOrWork],
    ([sequence]) => {
      const { state } = play(sequence)
      const [next, actions] = transition(state, { _tag: "Settled" })
      if (!isSettling(state)) return assert.deepStrictEqual([next, actions], [state, []])
      assert.deepStrictEqual(next.verdict, state.held)
      assert.include(
        actions.map(({ _tag }) => _tag),
        "Leave"
      )
    },
    runs
  )

  it.prop(
    "asks for an approval once and resolves it once, all before the end",
    [inputs],
    ([sequence]) => {
      const { events } = play([...sequence, ended])
      for (const id of approvalIds) {
        const mine = events.filter(
          (event) =>
            (event.type === "run.approval.requested" || event.type === "run.approval.resolved") &&
            event.payload.approvalId === id
        )
        const types = mine.map(({ type }) => type)
        assert.deepStrictEqual(
          types,
          types.length === 0 ? [] : ["run.approval.requested", "run.approval.resolved"]
        )
      }
    },
    runs
  )

  it.prop(
    "answers the runtime once per approval that is not withdrawn",
    [inputs],
    ([sequence]) => {
      const { actions, events } = play([...sequence, ended])
      for (const id of approvalIds) {
        const requested = events.some(
          (event) => event.type === "run.approval.requested" && event.payload.approvalId === id
        )
        const withdrawn = events.some(
          (event) =>
            event.type === "run.approval.resolved" &&
            event.payload.approvalId === id &&
            event.payload.reason === "the runtime went on"
        )
        const answers = actions.filter((action) => action._tag === "Answer" && action.approvalId === id)
        // A request while the run is ending: nothing is appended, and the runtime stops waiting.
        const unwritten = answers.filter(
          (action) => action._tag === "Answer" && action.answer.reason === "the run is ending"
        )
        assert.strictEqual(answers.length - unwritten.length, requested && !withdrawn ? 1 : 0)
      }
    },
    runs
  )

  it.prop(
    "pauses and resumes in turn, and has resumed before its end",
    [inputs],
    ([sequence]) => {
      const { events, state } = play([...sequence, ended])
      const changes = events.map(({ type }) => type).filter((type) => /^run\.(paused|resumed)$/.test(type))
      assert.deepStrictEqual(
        changes,
        changes.map((_, at) => (at % 2 === 0 ? "run.paused" : "run.resumed"))
      )
      assert.strictEqual(changes.length % 2, 0)
      assert.isUndefined(state.paused)
    },
    runs
  )

  it.prop(
    "is never paused while it ends, and thaws once for each pause",
    [inputs],
    ([sequence]) => {
      play(sequence, ({ paused, verdict }) => assert.isFalse(paused === true && verdict !== undefined))
      const { actions, events } = play([...sequence, ended])
      assert.strictEqual(
        actions.filter(({ _tag }) => _tag === "Thaw").length,
        countOf(events, ({ type }) => type === "run.resumed")
      )
    },
    runs
  )

  it.prop(
    "keeps its state, approvals and calls when it is paused or resumed",
    [underWay],
    ([sequence]) => {
      const { state } = play(sequence)
      for (const input of [{ _tag: "Frozen" }, { _tag: "ResumeRequested" }] as const) {
        const [next, actions] = transition(state, input)
        assert.deepStrictEqual({ ...next, paused: undefined }, { ...state, paused: undefined })
        for (const event of eventsOf(actions)) assert.match(event.type, /^run\.(paused|resumed)$/)
      }
    },
    runs
  )

  it.prop(
    "closes every tool call by exactly one result",
    [inputs],
    ([sequence]) => {
      const { events } = play([...sequence, ended])
      const open = new Map<string, string>()
      for (const event of events) {
        if (event.type === "run.tool.call") {
          assert.isFalse(open.has(event.payload.callId), "opened twice")
          open.set(event.payload.callId, event.payload.tool)
        } else if (event.type === "run.tool.result") {
          assert.strictEqual(event.payload.tool, open.get(event.payload.callId))
          open.delete(event.payload.callId)
        }
      }
      assert.strictEqual(open.size, 0)
    },
    runs
  )

  it.prop(
    "ends cancelled when the cancel comes before the conclusion, regardless of what the runtime says then",
    [underWay, inputs],
    ([before, after]) => {
      const undecided = before.filter(
        ({ _tag }) =>
          ![
            "OutcomeReported",
            "TimedOut",
            "FailureImposed",
            "ApprovalDecided",
            "InputAnswered",
            "FinishRequested"
          ].includes(_tag)
      )
      const cancel: RunMachineInput = { _tag: "CancelRequested", reason: "enough", by: "someone" }
      const withCancels = undecided.filter(({ _tag }) => _tag !== "CancelRequested")
      const { events } = play([...withCancels, cancel, ...after, ended])
      const last = events.at(-1)
      assert.strictEqual(last?.type, "run.cancelled")
      assert.deepInclude(last?.payload, { reason: "enough", by: "someone" })
    },
    runs
  )

  it.prop(
    "ends as its first conclusion says, unless the Edge overrules it",
    [underWay, inputs],
    ([before, after]) => {
      const { state } = play(before)
      const { events } = play([...before, ...after, ended])
      if (state.verdict === undefined) return
      const end = after.findIndex(({ _tag }) => _tag === "Ended")
      const live = end === -1 ? after : after.slice(0, end)
      const overruled =
        live.some(({ _tag }) => _tag === "FailureImposed") && state.verdict._tag !== "Cancelled"
      if (overruled) return assert.strictEqual(events.at(-1)?.type, "run.failed")
      assert.strictEqual(events.at(-1)?.type, `run.${state.verdict._tag.toLowerCase()}`)
    },
    runs
  )

  it.prop(
    "shows the order of conclusions: a conclusion or time-out asks the process to go",
    [inputs],
    ([sequence]) => {
      let state = play([]).state
      for (const input of sequence) {
        const [next, actions] = transition(state, input)
        const tags = actions.map(({ _tag }) => _tag)
        const over = state.status !== undefined && isTerminal(state.status)
        if (!over && (input._tag === "CancelRequested" || input._tag === "TimedOut"))
          assert.include(tags, "Stop")
        if (!over && state.verdict === undefined && next.verdict !== undefined && input._tag !== "Ended") {
          assert(tags.includes("Stop") || tags.includes("Leave"), input._tag)
        }
        state = next
      }
    },
    runs
  )

  it.prop(
    "answers a decision again and refuses another",
    [underWay, Decision, Decision, DecisionScope, DecisionScope],
    ([before, first, second, scope, other]) => {
      const [approvalId] = approvalIds
      assert(approvalId !== undefined)
      const free = before.filter(
        (input) =>
          !(input._tag === "ApprovalRequested" && input.approvalId === approvalId) &&
          !["OutcomeReported", "CancelRequested", "FailureImposed", "TimedOut", "InputAnswered"].includes(
            input._tag
          ) &&
          !(input._tag === "ApprovalDecided" && input.answer.decision === "cancel")
      )
      const ask: RunMachineInput = {
        _tag: "ApprovalRequested",
        approvalId,
        request: request(),
        expiresAt: ""
      }
      const one: RunMachineInput = { _tag: "ApprovalDecided", approvalId, answer: { decision: first, scope } }
      const { state } = play([...free, ask, one])
      const again: RunMachineInput = {
        _tag: "ApprovalDecided",
        approvalId,
        answer: { decision: second, scope: other }
      }
      const [after, actions] = transition(state, again)
      assert.strictEqual(after, state)
      assert.deepStrictEqual(
        actions,
        first === second ? [] : [{ _tag: "Refuse", code: "approval_already_resolved" }]
      )
    },
    runs
  )

  it.prop(
    "tells every decision on an expired approval so",
    [Decision, DecisionScope],
    ([decision, scope]) => {
      const [approvalId] = approvalIds
      assert(approvalId !== undefined)
      const { state } = play([
        { _tag: "ApprovalRequested", approvalId, request: request(), expiresAt: "" },
        { _tag: "ApprovalExpired", approvalId }
      ])
      for (const at of [state, transition(state, ended)[0]]) {
        const [after, actions] = transition(at, {
          _tag: "ApprovalDecided",
          approvalId,
          answer: { decision, scope }
        })
        assert.strictEqual(after, at)
        assert.deepStrictEqual(actions, [{ _tag: "Refuse", code: "approval_expired" }])
      }
    }
  )

  it.prop(
    "refuses a decision on what was never asked",
    [inputs, Decision],
    ([sequence, decision]) => {
      const unknown = "apr_00000000000000000000000000" as (typeof approvalIds)[number]
      const { state } = play(sequence)
      const answer = { decision, scope: "once" } as const
      assert.deepStrictEqual(transition(state, { _tag: "ApprovalDecided", approvalId: unknown, answer }), [
        state,
        [{ _tag: "Refuse", code: "not_found" }]
      ])
    },
    runs
  )

  it.prop(
    "changes no state that it was given",
    [inputs],
    ([sequence]) => {
      let state = play([]).state
      for (const input of sequence) {
        const copy = structuredClone(state)
        const [next] = transition(state, input)
        assert.deepStrictEqual(state, copy)
        state = next
      }
    },
    runs
  )
})

describe("accept", () => {
  const written = Arbitrary.map(
    Arbitrary.all([inputs, Arbitrary.array(Arbitrary.schema(Schema.Int))]),
    ([a, order]) => {
      const { events } = play([...a, ended])
      // The same events in another order, some of them twice: what a reader of a damaged log might see.
      return order.flatMap((n) => events.at(Math.abs(n) % events.length) ?? [])
    }
  )

  it.prop(
    "keeps the invariants on any order of events",
    [written],
    ([events]) => {
      let state = initial
      for (const event of events) {
        const before = state
        state = fold(state, event)
        assert.strictEqual(state.status === "waiting_approval", state.pending.size > 0, `after ${event.type}`)
        if (before.status !== undefined && isTerminal(before.status)) assert.strictEqual(state, before)
        if (state.status !== undefined && isTerminal(state.status))
          assert.strictEqual(state.openCalls.size, 0)
      }
    },
    runs
  )
})
