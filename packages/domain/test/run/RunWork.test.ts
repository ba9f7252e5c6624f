import { assert, describe, it } from "@effect/vitest"
import type { EventDraft } from "../../src/run/RunEvent.ts"
import {
  isSettling,
  transition,
  type RunMachineInput,
  type TransitionAction
} from "../../src/run/RunMachine.ts"
import { initial, type RunState } from "../../src/run/RunState.ts"
import { MAX_OUTSTANDING, MAX_WORK_TITLE } from "../../src/run/Work.ts"
import { approvalIds, created, inputIds, question, request } from "@corral/testing/recordings/RunInputs"

const [inputId = assert.fail("there are input ids")] = inputIds
const [approvalId = assert.fail("there are approval ids")] = approvalIds

const work = (
  state: "running" | "completed" | "failed" | "stopped",
  more: { readonly id?: string; readonly continues?: boolean } = {}
): RunMachineInput => ({ _tag: "WorkChanged", id: "w", kind: "agent", title: "Write tests", state, ...more })
const completed = (text: string): RunMachineInput => ({
  _tag: "OutcomeReported",
  outcome: { _tag: "Completed", text }
})
const failed: RunMachineInput = {
  _tag: "OutcomeReported",
  outcome: { _tag: "Failed", error: { code: "internal", message: "It broke." } }
}
const programTurn: RunMachineInput = { _tag: "TurnStarted", by: "program" }
const ask = (more = {}): RunMachineInput => ({
  _tag: "InputRequested",
  inputId,
  request: question(more)
})
const answer = (endsRun = false): RunMachineInput => ({
  _tag: "InputAnswered",
  inputId,
  answer: { answers: { colour: "blue" } },
  shown: { answers: { colour: "blue" } },
  by: "usr_1",
  origin: "console",
  endsRun
})
const decline: RunMachineInput = {
  _tag: "InputAnswered",
  inputId,
  answer: { decline: true },
  shown: {},
  by: "usr_1",
  endsRun: false
}
const ended: RunMachineInput = { _tag: "Ended" }

/** A started run after these inputs: its state, its events since the start, and its last actions. */
const after = (...inputs: ReadonlyArray<RunMachineInput>) => {
  let state: RunState = transition(initial, { _tag: "Created", payload: created })[0]
  let actions: ReadonlyArray<TransitionAction> = []
  const events: Array<EventDraft> = []
  for (const input of [{ _tag: "Spawned" } as const, ...inputs]) {
    ;[state, actions] = transition(state, input)
    for (const action of actions) if (action._tag === "Append") events.push(action.event)
  }
  return { state, events, actions, types: events.map(({ type }) => type) }
}

describe("a run with background work", () => {
  it("fails when more work is outstanding than it can follow", () => {
    const starts = Array.from({ length: MAX_OUTSTANDING }, (_, at) => work("running", { id: `${at}` }))
    const full = after(...starts)
    assert.isUndefined(full.state.verdict)
    assert.isUndefined(after(...starts, work("running", { id: "0" })).state.verdict)
    const { actions, state } = after(...starts, work("running"))
    assert.deepInclude(state.verdict, { _tag: "Failed" })
    assert.strictEqual(state.verdict?._tag === "Failed" ? state.verdict.error.code : "", "work_unfinished")
    assert.strictEqual(state.outstanding.size, 0)
    assert.deepStrictEqual(actions.at(-1), { _tag: "Stop" })
  })

  it("keeps the beginning of a long title", () => {
    const { events } = after({ ...work("running"), title: "x".repeat(10_000) } as RunMachineInput)
    assert.deepInclude(events.at(-1)?.payload, { title: `${"x".repeat(MAX_WORK_TITLE - 1)}…` })
  })

  it("holds its outcome until the work has ended, and shows the end of the turn", () => {
    const { events, state } = after(work("running"), completed("Delegated."))
    assert.strictEqual(state.status, "running")
    assert.isUndefined(state.verdict)
    assert.deepStrictEqual(events.at(-1), {
      type: "run.turn.ended",
      payload: { turn: 1, text: "Delegated.", outstanding: 1 }
    })
  })

  it("completes at the end of work after which the program starts no turn", () => {
    const { actions, state } = after(work("running"), completed("Started it."), work("completed"))
    assert.deepStrictEqual(state.verdict, { _tag: "Completed", text: "Started it." })
    assert.include(
      actions.map(({ _tag }) => _tag),
      "Leave"
    )
  })

  it("waits for the turn that ended work announces, and takes the outcome of that turn", () => {
    const waiting = after(work("running"), completed("Delegated."), work("completed", { continues: true }))
    assert.isUndefined(waiting.state.verdict)
    assert.isTrue(isSettling(waiting.state))
    const { state, types } = after(
      work("running"),
      completed("Delegated."),
      work("completed", { continues: true }),
      programTurn,
      completed("All done."),
      ended
    )
    assert.deepStrictEqual(types, [
      "run.started",
      "run.work.started",
      "run.turn.ended",
      "run.work.ended",
      "run.turn.started",
      "run.completed"
    ])
    assert.strictEqual(state.resultText, "All done.")
    assert.strictEqual(state.turn, 2)
  })

  it("waits for that turn too if the work ended before the outcome", () => {
    const { state } = after(work("running"), work("completed", { continues: true }), completed("Delegated."))
    assert.isUndefined(state.verdict)
    assert.isTrue(isSettling(state))
  })

  it("takes the held outcome if that turn never starts", () => {
    const { state } = after(
      work("running"),
      completed("Delegated."),
      work("completed", { continues: true }),
      { _tag: "Settled" }
    )
    assert.deepStrictEqual(state.verdict, { _tag: "Completed", text: "Delegated." })
  })

  it("holds a failed outcome like a completed one", () => {
    assert.isUndefined(after(work("running"), failed).state.verdict)
  })

  it("lets a newer outcome replace the held one", () => {
    const { state } = after(work("running"), failed, completed("It worked."), work("completed"))
    assert.deepStrictEqual(state.verdict, { _tag: "Completed", text: "It worked." })
  })

  it("ends with the usage that its work has reported after the outcome", () => {
    const usage = { inputTokens: 10, outputTokens: 1 }
    const { events } = after(
      work("running"),
      { _tag: "OutcomeReported", outcome: { _tag: "Completed", text: "Delegated.", usage } },
      { _tag: "UsageReported", usage: { inputTokens: 30, outputTokens: 4 } },
      work("completed"),
      ended
    )
    assert.deepInclude(events.at(-1)?.payload, { usage: { inputTokens: 30, outputTokens: 4 } })
  })

  it("keeps approvals of its work open after the end of a turn", () => {
    const requested: RunMachineInput = {
      _tag: "ApprovalRequested",
      approvalId,
      request: request(),
      expiresAt: ""
    }
    const { state } = after(work("running"), completed("Delegated."), requested)
    assert.strictEqual(state.status, "waiting_approval")
    assert.deepStrictEqual(state.pending.keys(), [approvalId])
  })

  it("starts a turn by a message that is delivered while it is idle", () => {
    const { state, types } = after(work("running"), completed("Delegated."), {
      _tag: "TurnStarted",
      by: "message"
    })
    assert.strictEqual(types.at(-1), "run.turn.started")
    assert.isFalse(state.isIdle)
    assert.isUndefined(state.held)
  })

  it("ends a turn when the next one follows without a pause", () => {
    const { events, state, types } = after(
      { _tag: "TurnStarted", by: "message", ended: { _tag: "Completed", text: "First." } },
      completed("Second.")
    )
    assert.deepStrictEqual(types.slice(-2), ["run.turn.ended", "run.turn.started"])
    assert.deepStrictEqual(events.at(-2)?.payload, { turn: 1, text: "First.", outstanding: 0 })
    assert.deepStrictEqual(events.at(-1)?.payload, { turn: 2, by: "message" })
    assert.deepInclude(state.verdict, { text: "Second." })
  })

  it("starts no turn by a message during a turn", () => {
    const { types } = after(work("running"), { _tag: "TurnStarted", by: "message" })
    assert.notInclude(types, "run.turn.started")
  })

  it("completes with the titles of the stopped work when a person finishes it", () => {
    const { events, types } = after(
      work("running"),
      completed("The server runs."),
      { _tag: "FinishRequested", by: "usr_1" },
      ended
    )
    assert.deepStrictEqual(types.slice(-2), ["run.work.ended", "run.completed"])
    assert.deepInclude(events.at(-1)?.payload, { text: "The server runs.", stopped: ["Write tests"] })
  })

  it("refuses to finish during a turn", () => {
    const { actions, state } = after(work("running"), { _tag: "FinishRequested", by: "usr_1" })
    assert.deepStrictEqual(actions, [{ _tag: "Refuse", code: "turn_active" }])
    assert.isUndefined(state.verdict)
  })

  it("fails with the titles of the work when the background limit is reached", () => {
    const { events, types } = after(
      work("running"),
      completed("Delegated."),
      { _tag: "TimedOut", kind: "background", afterMs: 1_000 },
      ended
    )
    assert.deepStrictEqual(types.slice(-3), ["runtime.timeout", "run.work.ended", "run.failed"])
    assert.deepInclude(events.at(-1)?.payload, {
      error: {
        code: "work_unfinished",
        message: "The background work exceeded its time limit.",
        details: { work: ["Write tests"], afterMs: 1_000 }
      }
    })
    assert.deepInclude(events.at(-2)?.payload, { state: "unfinished" })
  })

  it("fails if the process ends before the work", () => {
    const { events } = after(work("running"), completed("Delegated."), ended)
    const last = events.at(-1)
    assert(last?.type === "run.failed")
    assert.strictEqual(last.payload.error.code, "work_unfinished")
  })

  it("fails if the process ends while a further turn is due", () => {
    const { types } = after(
      work("running"),
      completed("Delegated."),
      work("completed", { continues: true }),
      ended
    )
    assert.strictEqual(types.at(-1), "run.failed")
  })

  it("stops its work when it is cancelled", () => {
    const { events, state } = after(
      work("running"),
      completed("Delegated."),
      { _tag: "CancelRequested", by: "usr_1" },
      ended
    )
    assert.deepInclude(events.find(({ type }) => type === "run.work.ended")?.payload, { state: "stopped" })
    assert.strictEqual(state.status, "cancelled")
  })
})

describe("a run with a question", () => {
  it("waits for input, and sends the answer to the program with the name of the person in the log", () => {
    assert.strictEqual(after(ask()).state.status, "waiting_input")
    const { actions, events, state } = after(ask(), answer())
    assert.strictEqual(state.status, "running")
    assert.deepStrictEqual(events.at(-1), {
      type: "run.input.resolved",
      payload: { inputId, state: "answered", answers: { colour: "blue" }, origin: "console", by: "usr_1" }
    })
    assert.deepStrictEqual(actions.at(-1), {
      _tag: "Respond",
      inputId,
      response: { _tag: "Answered", answers: { colour: "blue" }, comment: undefined }
    })
  })

  it("refuses a second answer, and one after the expiry", () => {
    assert.deepStrictEqual(after(ask(), answer(), answer()).actions, [
      { _tag: "Refuse", code: "input_already_resolved" }
    ])
    assert.deepStrictEqual(after(ask(), { _tag: "InputExpired", inputId }, answer()).actions, [
      { _tag: "Refuse", code: "input_expired" }
    ])
    assert.deepStrictEqual(after(answer()).actions, [{ _tag: "Refuse", code: "not_found" }])
  })

  it("refuses an answer after the end of the run", () => {
    const { actions, events } = after(ask(), { _tag: "CancelRequested" }, ended, answer())
    assert.deepStrictEqual(actions, [{ _tag: "Refuse", code: "input_already_resolved" }])
    assert.deepInclude(events.find(({ type }) => type === "run.input.resolved")?.payload, {
      state: "cancelled"
    })
  })

  it("holds an outcome while a question is open that ended the turn, and its answer starts the next one", () => {
    const open = after(ask({ startsTurn: true }), completed("Which colour?"))
    assert.strictEqual(open.state.status, "waiting_input")
    assert.isUndefined(open.state.verdict)
    const { state, types } = after(ask({ startsTurn: true }), completed("Which colour?"), answer())
    assert.strictEqual(types.at(-1), "run.turn.started")
    assert.isUndefined(state.held)
  })

  it("waits for the turn of an answer that arrives before the turn has ended", () => {
    const early = after(ask({ startsTurn: true }), answer(), completed("Which colour?"))
    assert.isUndefined(early.state.verdict)
    assert.isTrue(isSettling(early.state))
    const { state, types } = after(
      ask({ startsTurn: true }),
      answer(),
      completed("Which colour?"),
      programTurn,
      completed("Blue it is."),
      ended
    )
    assert.strictEqual(types.filter((type) => type === "run.turn.started").length, 1)
    assert.strictEqual(state.resultText, "Blue it is.")
  })

  it("lets the outcome count when that question is declined", () => {
    const { state } = after(ask({ startsTurn: true }), completed("Which colour?"), decline)
    assert.deepStrictEqual(state.verdict, { _tag: "Completed", text: "Which colour?" })
  })

  it("ends with the plan that was approved in a run that may not carry it out", () => {
    const plan = { kind: "plan", title: "Plan", plan: "1. Do it", questions: [] } as const
    const { actions, state } = after(ask(plan), {
      _tag: "InputAnswered",
      inputId,
      answer: { approve: true, mode: "auto_edit" },
      shown: {},
      by: "usr_1",
      endsRun: true
    })
    assert.deepStrictEqual(state.verdict, { _tag: "Completed", text: "1. Do it" })
    assert.deepInclude(
      actions.find(({ _tag }) => _tag === "Respond"),
      {
        response: { _tag: "PlanApproved", mode: "auto_edit", comment: undefined, endsRun: true }
      }
    )
  })
})
