import { assert, describe, it } from "@effect/vitest"
import { draft, type EventDraft } from "../../src/run/RunEvent.ts"
import { isTerminalType } from "../../src/run/RunEnd.ts"
import { transition, type TransitionAction, type RunMachineInput } from "../../src/run/RunMachine.ts"
import { accept, initial, type Refusal, type RunState } from "../../src/run/RunState.ts"
import type { ApprovalAnswer, Outcome } from "../../src/run/RuntimeAdapter.ts"
import { approvalIds, created, request } from "@corral/testing/recordings/RunInputs"

const [a = never(), b = never()] = approvalIds
function never(): never {
  throw new Error("there are approval ids")
}

const expiresAt = "2026-01-01T00:30:00.000Z"
const create: RunMachineInput = { _tag: "Created", payload: created }
const ask = (approvalId: typeof a): Extract<RunMachineInput, { _tag: "ApprovalRequested" }> => ({
  _tag: "ApprovalRequested",
  approvalId,
  request: request(),
  expiresAt
})
type EventEmitted = Extract<RunMachineInput, { _tag: "EventEmitted" }>
const emitted = (event: EventEmitted["event"]): EventEmitted => ({
  _tag: "EventEmitted",
  event
})
const decide = (approvalId: typeof a, answer: Partial<ApprovalAnswer> = {}): RunMachineInput => ({
  _tag: "ApprovalDecided",
  approvalId,
  answer: { decision: "allow", scope: "once", ...answer },
  by: "local"
})
const conclude = (outcome: Outcome = { _tag: "Completed", text: "Done." }): RunMachineInput => ({
  _tag: "OutcomeReported",
  outcome
})
const cancel: RunMachineInput = { _tag: "CancelRequested", reason: "enough", by: "local" }
const ended: RunMachineInput = { _tag: "Ended" }
const call = draft("run.tool.call", { callId: "c1", tool: "Bash", label: "Run ls", status: "started" })
const result = draft("run.tool.result", { callId: "c1", tool: "Bash", status: "completed" })
const delta = draft("run.message.delta", { messageId: "m1", channel: "text", text: "Hi" })

const after = (...inputs: ReadonlyArray<RunMachineInput>): RunState =>
  [create, ...inputs].reduce((state, input) => transition(state, input)[0], initial)

const actionsOf = (
  input: RunMachineInput,
  ...before: ReadonlyArray<RunMachineInput>
): ReadonlyArray<TransitionAction> => transition(after(...before), input)[1]

/** Appended types and other actions, in order. */
const described = (actions: ReadonlyArray<TransitionAction>): ReadonlyArray<string> =>
  actions.map((action) => (action._tag === "Append" ? action.event.type : action._tag))

const appended = (actions: ReadonlyArray<TransitionAction>): ReadonlyArray<EventDraft> =>
  actions.flatMap((action) => (action._tag === "Append" ? [action.event] : []))

describe("transition", () => {
  it("creates a run once", () => {
    assert.deepStrictEqual(transition(initial, create)[1], [
      { _tag: "Append", event: draft("run.created", created) }
    ])
    assert.deepStrictEqual(transition(after(), create), [after(), []])
  })

  it("writes nothing of a run that was not created", () => {
    for (const input of [emitted(delta), ask(a), ended, { _tag: "Spawned" } as const]) {
      assert.deepStrictEqual(appended(transition(initial, input)[1]), [], input._tag)
    }
  })

  it("is starting once it is spawned, and running once the runtime says so", () => {
    assert.strictEqual(after({ _tag: "Spawned" }).status, "starting")
    assert.strictEqual(after({ _tag: "Spawned" }, emitted(draft("run.started", {}))).status, "running")
    assert.strictEqual(after(emitted(delta), { _tag: "Spawned" }).status, "running")
  })

  it("keeps the runtime's session and model", () => {
    const { runtimeSessionId, model } = after(
      emitted(draft("run.started", { runtimeSessionId: "s", model: "m" }))
    )
    assert.deepStrictEqual({ runtimeSessionId, model }, { runtimeSessionId: "s", model: "m" })
  })

  it("has started when the runtime speaks or asks before it says so", () => {
    assert.deepStrictEqual(described(actionsOf(emitted(delta))), ["run.started", "run.message.delta"])
    assert.deepStrictEqual(described(actionsOf(ask(a))), ["run.started", "run.approval.requested"])
    assert.deepStrictEqual(described(actionsOf(emitted(draft("run.started", {})), emitted(delta))), [])
  })

  it("keeps the runtime's session if a connection of its start was asked about or refused before", () => {
    const text = "The connection was not approved."
    const refused = draft("run.message.completed", {
      messageId: "network:1",
      role: "system",
      channel: "text",
      text
    })
    const question: RunMachineInput = { ...ask(a), isFromEdge: true }
    const line: RunMachineInput = { ...emitted(refused), isFromEdge: true }
    assert.deepStrictEqual(described(actionsOf(question)), ["run.approval.requested"])
    assert.deepStrictEqual(described(actionsOf(line)), ["run.message.completed"])
    const before = [{ _tag: "Spawned" }, question, decide(a, { decision: "deny" }), line] as const
    assert.strictEqual(after(...before).status, "starting")
    const started = emitted(draft("run.started", { runtimeSessionId: "s" }))
    assert.deepInclude(after(...before, started), { status: "running", runtimeSessionId: "s" })
    assert.strictEqual(after({ _tag: "Spawned" }, question, started).status, "waiting_approval")
  })

  it("has not started when the runtime is not there", () => {
    const missing = draft("runtime.unavailable", { reason: "command_missing", message: "Not there." })
    assert.deepStrictEqual(described(actionsOf(emitted(missing))), ["runtime.unavailable"])
    assert.strictEqual(after(emitted(missing)).status, "created")
  })

  it("shares the state where an event does not move the run", () => {
    const state = after(emitted(draft("run.started", {})))
    assert.strictEqual(transition(state, emitted(delta))[0], state)
  })

  it("takes a result for an open call and no other", () => {
    assert.deepStrictEqual(after(emitted(call)).openCalls.entries(), [["c1", "Bash"]])
    assert.deepStrictEqual(described(actionsOf(emitted(call), emitted(call))), [])
    assert.deepStrictEqual(described(actionsOf(emitted(result), emitted(call))), ["run.tool.result"])
    assert.deepStrictEqual(described(actionsOf(emitted(result), emitted(call), emitted(result))), [])
  })

  it("waits while any approval pends, and runs when the last is resolved", () => {
    assert.deepStrictEqual(after(ask(a), ask(b)).pending.keys(), [a, b])
    assert.strictEqual(after(ask(a), ask(b), decide(a)).status, "waiting_approval")
    assert.strictEqual(after(ask(a), ask(b), decide(a), decide(b)).status, "running")
  })

  it("appends a decision before answering the runtime", () => {
    const answer = { decision: "deny", scope: "run", reason: "not here" } as const
    assert.deepStrictEqual(actionsOf(decide(a, answer), ask(a)), [
      {
        _tag: "Append",
        event: draft("run.approval.resolved", {
          approvalId: a,
          state: "denied",
          decision: "deny",
          edited: false,
          scope: "run",
          reason: "not here",
          by: "local"
        })
      },
      { _tag: "Answer", approvalId: a, answer }
    ])
  })

  it("keeps an edited input for the runtime and out of the log", () => {
    const updatedInput = { path: "b.txt" }
    const actions = actionsOf(decide(a, { updatedInput }), ask(a))
    assert.deepStrictEqual(actions.at(-1), {
      _tag: "Answer",
      approvalId: a,
      answer: { decision: "allow", scope: "once", updatedInput }
    })
    assert.notInclude(JSON.stringify(appended(actions)), "b.txt")
  })

  it("ends the run by a decision that cancels: this approval first, then the others, then the process", () => {
    const actions = actionsOf(decide(a, { decision: "cancel", reason: "no" }), ask(a), ask(b))
    assert.deepStrictEqual(described(actions), [
      "run.approval.resolved",
      "Answer",
      "run.approval.resolved",
      "Answer",
      "Stop"
    ])
    const last = after(ask(a), decide(a, { decision: "cancel", reason: "no" }), ended)
    assert.strictEqual(last.status, "cancelled")
    assert.deepStrictEqual(
      appended(actionsOf(ended, ask(a), decide(a, { decision: "cancel", reason: "no" }))).at(-1),
      draft("run.cancelled", { by: "local", reason: "no" })
    )
  })

  it("takes silence for a denial", () => {
    assert.deepStrictEqual(actionsOf({ _tag: "ApprovalExpired", approvalId: a }, ask(a)), [
      {
        _tag: "Append",
        event: draft("run.approval.resolved", {
          approvalId: a,
          state: "expired",
          reason: "the approval expired"
        })
      },
      {
        _tag: "Answer",
        approvalId: a,
        answer: { decision: "deny", scope: "once", reason: "the approval expired" }
      }
    ])
    assert.strictEqual(after(ask(a), { _tag: "ApprovalExpired", approvalId: a }).status, "running")
  })

  it("ignores the time-out of an approval that is settled", () => {
    assert.deepStrictEqual(actionsOf({ _tag: "ApprovalExpired", approvalId: a }, ask(a), decide(a)), [])
    assert.deepStrictEqual(actionsOf({ _tag: "ApprovalExpired", approvalId: a }), [])
  })

  it("resolves a withdrawn approval as cancelled and tells the runtime nothing", () => {
    const withdrawn: RunMachineInput = { _tag: "ApprovalWithdrawn", approvalId: a, reason: "it went on" }
    assert.deepStrictEqual(described(actionsOf(withdrawn, ask(a))), ["run.approval.resolved"])
    assert.strictEqual(after(ask(a), withdrawn).resolved.get(a)?.state, "cancelled")
    assert.deepStrictEqual(actionsOf(withdrawn, ask(a), decide(a)), [])
  })

  it.each([
    ["allow", "allow", undefined],
    ["deny", "deny", undefined],
    ["cancel", "cancel", undefined],
    ["allow", "deny", "approval_already_resolved"],
    ["allow", "cancel", "approval_already_resolved"],
    ["deny", "allow", "approval_already_resolved"],
    ["deny", "cancel", "approval_already_resolved"],
    ["cancel", "allow", "approval_already_resolved"]
  ] as const)("after %s, %s gives %s", (first, second, code) => {
    const expected: ReadonlyArray<TransitionAction> = code === undefined ? [] : [{ _tag: "Refuse", code }]
    const before = [ask(a), decide(a, { decision: first })]
    assert.deepStrictEqual(actionsOf(decide(a, { decision: second }), ...before), expected)
    assert.deepStrictEqual(actionsOf(decide(a, { decision: second }), ...before, ended), expected)
  })

  it("refuses a decision on what was never asked, live and ended", () => {
    const refused: ReadonlyArray<TransitionAction> = [{ _tag: "Refuse", code: "not_found" }]
    assert.deepStrictEqual(actionsOf(decide(b), ask(a)), refused)
    assert.deepStrictEqual(actionsOf(decide(b), ended), refused)
  })

  it("cancels a request while the run is ending", () => {
    for (const ending of [conclude(), cancel, { _tag: "TimedOut", kind: "run", afterMs: 1 } as const]) {
      assert.deepStrictEqual(actionsOf(ask(a), ending), [
        {
          _tag: "Answer",
          approvalId: a,
          answer: { decision: "cancel", scope: "once", reason: "the run is ending" }
        }
      ])
    }
  })

  it("lets the process leave when the runtime concludes, also where it is being stopped already", () => {
    assert.deepStrictEqual(described(actionsOf(conclude())), ["Leave"])
    assert.deepStrictEqual(actionsOf(conclude(), cancel), [{ _tag: "Leave" }])
  })

  it("resolves what pends when the runtime concludes", () => {
    assert.deepStrictEqual(described(actionsOf(conclude(), emitted(delta), ask(a))), [
      "run.approval.resolved",
      "Answer",
      "Leave"
    ])
  })

  it("stops the process on every cancel, also after a conclusion that then stands", () => {
    assert.deepStrictEqual(described(actionsOf(cancel)), ["Stop"])
    assert.deepStrictEqual(described(actionsOf(cancel, conclude())), ["Stop"])
    assert.strictEqual(after(conclude(), cancel, ended).status, "completed")
    assert.strictEqual(after(cancel, conclude(), ended).status, "cancelled")
  })

  it.each([
    ["run", "The run exceeded its configured timeout."],
    ["cap", "The run exceeded the absolute limit of its lifetime."],
    ["first_event", "The runtime produced no output after the start."],
    ["silence", "The runtime stopped producing output."]
  ] as const)("times out (%s): first the time-out, then the failure", (kind, message) => {
    const timedOut: RunMachineInput = { _tag: "TimedOut", kind, afterMs: 1_000 }
    assert.deepStrictEqual(described(actionsOf(timedOut, ask(a))), [
      "runtime.timeout",
      "run.approval.resolved",
      "Answer",
      "Stop"
    ])
    assert.deepStrictEqual(appended(actionsOf(ended, timedOut)), [
      draft("run.failed", { error: { code: "run_timeout", message, details: { kind, afterMs: 1_000 } } })
    ])
    assert.deepStrictEqual(described(actionsOf(timedOut, conclude())), ["Stop"])
  })

  it("overrules the runtime: ends what is under way, and what it calls a success", () => {
    const error = { code: "permission_denied", message: "It went too far." }
    const overruled: RunMachineInput = { _tag: "FailureImposed", error }
    assert.deepStrictEqual(described(actionsOf(overruled, ask(a))), [
      "run.approval.resolved",
      "Answer",
      "Stop"
    ])
    assert.deepStrictEqual(appended(actionsOf(ended, overruled)), [draft("run.failed", { error })])
    assert.deepStrictEqual(described(actionsOf(overruled, conclude())), [])
    const usage = { turns: 3 }
    assert.deepStrictEqual(
      appended(actionsOf(ended, conclude({ _tag: "Completed", text: "Done.", usage }), overruled)),
      [draft("run.failed", { usage, error })]
    )
    assert.strictEqual(after(cancel, overruled, ended).status, "cancelled")
  })

  it("tells at the end what was used, where the outcome does not", () => {
    const used: RunMachineInput = { _tag: "UsageReported", usage: { outputTokens: 7 } }
    assert.deepInclude(appended(actionsOf(ended, used, cancel))[0]?.payload, { usage: { outputTokens: 7 } })
    const outcome: Outcome = { _tag: "Completed", usage: { outputTokens: 9 } }
    assert.deepInclude(appended(actionsOf(ended, used, conclude(outcome)))[0]?.payload, {
      usage: { outputTokens: 9 }
    })
  })

  it("fails as runtime_unavailable when the process goes without a word", () => {
    assert.deepStrictEqual(appended(actionsOf(ended, { _tag: "Spawned" })), [
      draft("run.failed", {
        error: {
          code: "runtime_unavailable",
          message: "The runtime ended without a result.",
          details: { reason: "crashed" }
        }
      })
    ])
  })

  it("closes what is open before it ends: approvals, then calls, then the run", () => {
    const crashed = actionsOf(ended, emitted(call), ask(a))
    assert.deepStrictEqual(described(crashed), [
      "run.approval.resolved",
      "Answer",
      "run.tool.result",
      "run.failed"
    ])
    assert.deepInclude(appended(crashed)[1]?.payload, { callId: "c1", tool: "Bash", status: "failed" })
    const cancelled = appended(actionsOf(ended, emitted(call), cancel))
    assert.deepInclude(cancelled[0]?.payload, { callId: "c1", tool: "Bash", status: "cancelled" })
  })

  it("keeps text and usage of the outcome", () => {
    const usage = { inputTokens: 1, costUsd: 0.5 }
    const state = after(conclude({ _tag: "Completed", text: "Done.", usage }), ended)
    assert.deepInclude(state, { status: "completed", resultText: "Done.", usage })
    const failed = after(
      conclude({ _tag: "Failed", error: { code: "internal", message: "x" }, usage }),
      ended
    )
    assert.deepInclude(failed, { status: "failed", error: { code: "internal", message: "x" }, usage })
    assert.deepInclude(after(conclude({ _tag: "Cancelled", usage }), ended), { status: "cancelled", usage })
  })
})

describe("a pause", () => {
  const freeze: RunMachineInput = { _tag: "Frozen", by: "usr_1" }
  const resume: RunMachineInput = { _tag: "ResumeRequested", by: "usr_2", reason: "lunch is over" }
  const started = emitted(draft("run.started", {}))

  it("keeps the state of the run", () => {
    assert.deepInclude(after(started, freeze), { status: "running", paused: true })
    assert.deepInclude(after(started, ask(a), freeze), { status: "waiting_approval", paused: true })
    assert.deepStrictEqual(appended(actionsOf(freeze, started)), [draft("run.paused", { by: "usr_1" })])
  })

  it("has no effect on a paused run, and a resume none on a run that is not paused", () => {
    assert.deepStrictEqual(actionsOf(freeze, started, freeze), [])
    assert.deepStrictEqual(actionsOf(resume, started), [])
    assert.deepStrictEqual(actionsOf(resume, started, freeze, resume), [])
  })

  it("ends with a resume, which thaws after its event", () => {
    const actions = actionsOf(resume, started, freeze)
    assert.deepStrictEqual(described(actions), ["run.resumed", "Thaw"])
    assert.deepStrictEqual(appended(actions)[0]?.payload, { by: "usr_2", reason: "lunch is over" })
  })

  it("takes decisions, whose answers wait for the program", () => {
    assert.deepStrictEqual(described(actionsOf(decide(a), started, ask(a), freeze)), [
      "run.approval.resolved",
      "Answer"
    ])
    assert.deepInclude(after(started, ask(a), freeze, decide(a)), { status: "running", paused: true })
  })

  it("ends before the run does: with a cancel, a timeout, a failure and a result that was printed before", () => {
    const endings: ReadonlyArray<readonly [RunMachineInput, string]> = [
      [cancel, "Stop"],
      [{ _tag: "TimedOut", kind: "cap", afterMs: 1 }, "Stop"],
      [{ _tag: "FailureImposed", error: { code: "internal", message: "x" } }, "Stop"],
      [conclude(), "Leave"]
    ]
    for (const [input, last] of endings) {
      const actions = described(actionsOf(input, started, freeze))
      assert.deepStrictEqual(actions.slice(-3), ["run.resumed", "Thaw", last], input._tag)
    }
    const types = described(actionsOf(ended, started, freeze))
    assert.deepStrictEqual(types, ["run.resumed", "Thaw", "run.failed"])
  })

  it("does not begin once the run is ending", () => {
    assert.deepStrictEqual(actionsOf(freeze, started, cancel), [])
  })
})

describe("accept", () => {
  const log = (...events: ReadonlyArray<EventDraft>): RunState =>
    events.reduce((state, event) => {
      const next = accept(state, event)
      assert(next.ok, event.type)
      return next.state
    }, initial)
  const requested = draft("run.approval.requested", { approvalId: a, request: request(), expiresAt })
  const resolved = draft("run.approval.resolved", { approvalId: a, state: "approved" })
  const born = draft("run.created", created)
  const started = draft("run.started", {})
  const done = draft("run.completed", {})
  const paused = draft("run.paused", {})
  const resumed = draft("run.resumed", {})

  const refusals: ReadonlyArray<readonly [Refusal, RunState, EventDraft]> = [
    ["not_created", initial, started],
    ["already_created", log(born), born],
    ["already_started", log(born, started), started],
    ["already_terminal", log(born, done), delta],
    ["unknown_approval", log(born), resolved],
    ["unknown_approval", log(born, requested, resolved), resolved],
    ["approval_already_asked", log(born, requested), requested],
    ["approval_already_asked", log(born, requested, resolved), requested],
    ["call_already_open", log(born, call), call],
    ["call_not_open", log(born), result],
    ["approvals_pending", log(born, requested), done],
    ["calls_open", log(born, call), done],
    ["already_paused", log(born, paused), paused],
    ["not_paused", log(born), resumed],
    ["not_paused", log(born, paused, resumed), resumed],
    ["still_paused", log(born, paused), done]
  ]
  it.each(refusals)("refuses as %s", (refusal, state, event) => {
    assert.deepStrictEqual(accept(state, event), { ok: false, refusal })
  })

  it("keeps waiting when a run that is asked says only then that it has started", () => {
    const next = accept(log(born, requested), started)
    assert(next.ok)
    assert.strictEqual(next.state.status, "waiting_approval")
    assert.deepStrictEqual(next.state.pending.keys(), [a])
  })

  it("takes a terminal event straight from creation", () => {
    assert.strictEqual(log(born, draft("run.cancelled", {})).status, "cancelled")
  })

  it("ends a run with the three terminal types and no other", () => {
    const ending = [
      done,
      draft("run.cancelled", {}),
      draft("run.failed", { error: { code: "x", message: "y" } })
    ]
    assert.isTrue(ending.every(({ type }) => isTerminalType(type)))
    assert.isFalse([born, started, delta, call].some(({ type }) => isTerminalType(type)))
  })
})
