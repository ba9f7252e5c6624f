/** The Hub's fold of a log, batch by batch from rows, against the domain's fold of the whole of it. */
import { assert, describe, it } from "@effect/vitest"
import type { Approval } from "@corral/domain/approval/Approval"
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest, RequestedInput } from "@corral/domain/input/InputRequest"
import { isTerminal } from "@corral/domain/run/RunEnd"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { type RunMachineInput, transition } from "@corral/domain/run/RunMachine"
import { fold, initial, liveFieldsOf } from "@corral/domain/run/RunState"
import { Arbitrary, Effect, Schema } from "effect"
import { checkStepCosts } from "@corral/testing/recordings/CrowdedRun"
import { anyInput, created } from "@corral/testing/recordings/RunInputs"
import { type MirroredRequests, MirroredRun, type MirroredRunRow } from "../../src/run/MirroredRun.ts"
import {
  createdRun,
  createRun,
  envelopeAt,
  inputRequested,
  inputResolved,
  newId,
  runCompleted,
  runStarted
} from "@corral/testing/hub/Mirror"
import { tries } from "@corral/testing/time/Effort"
import { highestUseOf } from "../../src/usage/UsageMetrics.ts"

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

const inputIds = Schema.Literals([1, 2, 3].map((n) => `inq_${String(n).repeat(26)}` as InputRequestId))
const workIds = Schema.Literals(["agent-1", "command-1", "command-2"])

/** Inputs about questions, work and turns. */
const Step = Schema.Union([
  Schema.TaggedStruct("InputRequested", {
    inputId: inputIds,
    kind: Schema.Literals(["question", "plan"]),
    startsTurn: Schema.Boolean
  }),
  Schema.TaggedStruct("InputWithdrawn", {
    inputId: inputIds,
    state: Schema.Literals(["withdrawn", "self_answered"])
  }),
  Schema.TaggedStruct("InputAnswered", { inputId: inputIds, answer: Schema.Literals([0, 1, 2, 3]) }),
  Schema.TaggedStruct("InputExpired", { inputId: inputIds }),
  Schema.TaggedStruct("WorkChanged", {
    id: workIds,
    state: Schema.Literals(["running", "running", "completed", "failed"]),
    continues: Schema.Boolean
  }),
  Schema.TaggedStruct("TurnStarted", { by: Schema.Literals(["message", "program"]) }),
  Schema.TaggedStruct("OutcomeReported", { text: Schema.Literals(["One.", "Two."]) }),
  Schema.TaggedStruct("Settled", {}),
  Schema.TaggedStruct("FinishRequested", {})
])

const answers: ReadonlyArray<InputAnswer> = [
  { answers: { name: "Ada" }, comment: "As said." },
  { decline: true },
  { approve: true, mode: "ask" },
  { approve: false, comment: "Not yet." }
]

const requestedOf = (kind: "plan" | "question", startsTurn: boolean): RequestedInput => ({
  kind,
  title: "What is the name?",
  ...(startsTurn ? { startsTurn } : {}),
  ...(kind === "plan" ? { plan: "First this, then that." } : {})
})

const inputOf = (step: typeof Step.Type): RunMachineInput => {
  switch (step._tag) {
    case "InputRequested":
      return { ...step, request: requestedOf(step.kind, step.startsTurn) }
    case "InputAnswered": {
      const answer = answers[step.answer] ?? { decline: true }
      return {
        ...step,
        answer,
        shown: { answers: { name: "Ada" } },
        by: "a person",
        origin: "console",
        endsRun: false
      }
    }
    case "WorkChanged":
      return {
        ...step,
        kind: step.id === "agent-1" ? "agent" : "command",
        title: `The work ${step.id}`
      }
    case "OutcomeReported":
      return { _tag: "OutcomeReported", outcome: { _tag: "Completed", text: step.text } }
    default:
      return step
  }
}

const oneOrOther = Arbitrary.map(
  Arbitrary.all([Arbitrary.schema(Schema.Boolean), anyInput, Arbitrary.schema(Step)]),
  ([isOther, input, step]) => (isOther ? inputOf(step) : input)
)

/** Inputs of a run in progress. */
const underWay = Arbitrary.map(Arbitrary.array(oneOrOther, { maxLength: 60 }), (inputs) =>
  inputs.filter(({ _tag }) => _tag !== "Ended" && _tag !== "CancelRequested")
)

const newRow = (id: RunId): MirroredRunRow => ({
  id,
  agentId: createRun.agentId,
  workspace: createRun.workspace,
  state: "queued",
  started: false,
  pending: [],
  told: {},
  pending_inputs: [],
  turn: 1,
  idle: false,
  work: null
})

/** Requests as the Hub's table has them. */
class Table<Id extends string, Request extends { readonly id: Id; readonly state: string }> {
  readonly rows = new Map<Id, Request>()

  store({ requested, resolved }: MirroredRequests<Id, Request, object>): void {
    for (const [id, request] of requested) this.rows.set(id, request)
    for (const [id, resolution] of resolved) {
      const row = this.rows.get(id)
      assert.strictEqual(row?.state, "pending")
      if (row !== undefined) this.rows.set(id, { ...row, ...resolution })
    }
  }

  get pending(): ReadonlyArray<Id> {
    return [...this.rows.values()].filter(({ state }) => state === "pending").map(({ id }) => id)
  }

  get resolved(): ReadonlyMap<string, string> {
    return new Map(
      [...this.rows.values()].flatMap(({ id, state }) => (state === "pending" ? [] : [[id, state]]))
    )
  }
}

const Sizes = Arbitrary.array(Arbitrary.schema(Schema.Literals([1, 2, 3, 7])), {
  minLength: 1,
  maxLength: 10
})
const Ends = Arbitrary.schema(Schema.Boolean)

const amounts = ["inputTokens", "outputTokens", "costUsd"] as const
const amount = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))
/** With whole costs, so that sums are exact. */
const Report = Schema.Struct({
  inputTokens: Schema.optionalKey(amount),
  outputTokens: Schema.optionalKey(amount),
  costUsd: Schema.optionalKey(amount)
})

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
        let row = newRow(runId)
        const [approvals, questions] = [
          new Table<ApprovalId, Approval>(),
          new Table<InputRequestId, InputRequest>()
        ]
        const endedTurns: Array<number> = []
        for (let at = 0, i = 0; at < events.length; i++) {
          const batch = events.slice(at, at + (sizes[i % sizes.length] ?? 1))
          const step = new MirroredRun(row)
          for (const [j, event] of batch.entries())
            assert.isTrue(step.apply(envelopeAt(runId, at + j + 1, event)), event.type)
          const { columns } = step
          // What is not said to have moved is not written.
          if (!step.hasChanged) assert.deepStrictEqual({ ...row, ...columns }, row)
          // Rows are JSON between two batches.
          row = { ...row, ...(JSON.parse(JSON.stringify(columns)) as typeof columns) }
          approvals.store(step.approvals)
          questions.store(step.inputs)
          endedTurns.push(...step.endedTurns.map(({ turn }) => turn))
          at += batch.length
        }
        const { error, model, resultText, usage } = row.told
        assert.deepStrictEqual(
          [row.state, row.started, row.pending, usage, resultText, error, model],
          [
            whole.status,
            whole.started,
            whole.pending.keys(),
            whole.usage,
            whole.resultText,
            whole.error,
            whole.model
          ]
        )
        const isLive = whole.status !== undefined && !isTerminal(whole.status)
        assert.deepStrictEqual(
          [row.turn, row.idle, row.work ?? []],
          [whole.turn, isLive && whole.isIdle, isLive ? whole.outstanding.entries() : []]
        )
        assert.deepStrictEqual([...row.pending_inputs], liveFieldsOf(whole).pendingInputs)
        const approvalEnds = whole.resolved.entries().map(([id, { state }]) => [id, state] as const)
        assert.deepStrictEqual(approvals.resolved, new Map(approvalEnds))
        assert.deepStrictEqual(approvals.pending, whole.pending.keys())
        assert.deepStrictEqual(questions.resolved, new Map(whole.resolvedInputs.entries()))
        assert.deepStrictEqual(questions.pending, whole.pendingInputs.keys())
        const turnsEnded = events.filter(({ type }) => type === "run.turn.ended")
        assert.lengthOf(endedTurns, turnsEnded.length)
      }),
    tries(200)
  )

  const follow = (...batches: ReadonlyArray<ReadonlyArray<EventDraft>>) => {
    const runId = newId<RunId>("run")
    let [row, seq] = [newRow(runId), 0]
    const steps = batches.map((batch) => {
      const step = new MirroredRun(row)
      for (const event of batch) assert.isTrue(step.apply(envelopeAt(runId, ++seq, event)), event.type)
      row = { ...row, ...step.columns }
      return step
    })
    return { row, steps }
  }

  it.effect.prop(
    "has the most that a run has reported, for every division of its reports into batches",
    [Arbitrary.array(Arbitrary.schema(Report), { maxLength: 12 }), Sizes],
    ([reports, sizes]) =>
      Effect.sync(() => {
        const runId = newId<RunId>("run")
        const events = [
          createdRun,
          runStarted,
          ...reports.map((usage) => draft("run.usage.updated", { usage }))
        ]
        const counted = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
        let row = newRow(runId)
        for (let at = 0, i = 0; at < events.length; i++) {
          const batch = events.slice(at, at + (sizes[i % sizes.length] ?? 1))
          const step = new MirroredRun(row)
          for (const [j, event] of batch.entries())
            assert.isTrue(step.apply(envelopeAt(runId, at + j + 1, event)))
          const [before, after] = [highestUseOf(row.told), highestUseOf(step.summary)]
          for (const name of amounts) counted[name] += (after[name] ?? 0) - (before[name] ?? 0)
          row = { ...row, ...(JSON.parse(JSON.stringify(step.columns)) as typeof step.columns) }
          at += batch.length
        }
        const most = (name: (typeof amounts)[number]) =>
          Math.max(0, ...reports.map((report) => report[name] ?? 0))
        assert.deepStrictEqual(counted, {
          inputTokens: most("inputTokens"),
          outputTokens: most("outputTokens"),
          costUsd: most("costUsd")
        })
        // The cost of a run is that of its last report.
        assert.deepStrictEqual(row.told.usage, reports.at(-1))
      }),
    tries(200)
  )

  it("accepts a log of which a Hub that does not fold questions and work has stored a part", () => {
    const inputId = newId<InputRequestId>("inq")
    const { row } = follow([
      createdRun,
      runStarted,
      // Their starts were stored by the other Hub.
      inputResolved(inputId, "answered"),
      draft("run.work.ended", { workId: "w", state: "completed" }),
      draft("run.turn.started", { turn: 3, by: "program" }),
      runCompleted
    ])
    assert.deepStrictEqual([row.state, row.pending_inputs, row.work], ["completed", [], null])
  })

  it("cancels the questions of a run whose end such a Hub has not prepared", () => {
    const inputId = newId<InputRequestId>("inq")
    const work = draft("run.work.started", { workId: "w", kind: "agent", title: "Look around" })
    const { row, steps } = follow([createdRun, runStarted, inputRequested(inputId), work], [runCompleted])
    assert.deepStrictEqual([row.state, row.pending_inputs, row.work], ["completed", [], null])
    assert.strictEqual(steps[1]?.inputs.resolved.get(inputId)?.state, "cancelled")
  })

  it("applies an event of any type with the same number of operations however much is open", () => {
    const runId = newId<RunId>("run")
    checkStepCosts(() => {
      const step = new MirroredRun(newRow(runId))
      let seq = 0
      return (event) => void step.apply(envelopeAt(runId, ++seq, event))
    })
  })
})
