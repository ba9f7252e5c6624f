import { MAX_OPTIONS, MAX_QUESTIONS, MAX_INPUT_TEXT } from "@corral/domain/input/InputRequest"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { MAX_STEPS } from "@corral/domain/run/Work"
import { countOperations } from "@corral/testing/time/CountedOperations"
import { assert, describe, it } from "@effect/vitest"
import { OutputCollector, runtimeFailure } from "../../src/output/OutputCollector.ts"

const completed = { _tag: "Completed", text: "Done." } as const
const exited = { code: 0, signal: null, stderr: "" } as const

const delta = (messageId: string, parentCallId?: string) =>
  draft("run.message.delta", {
    messageId,
    channel: "text",
    text: "Half",
    ...(parentCallId === undefined ? {} : { parentCallId })
  })

const call = (callId: string, parentCallId?: string) => ({
  callId,
  tool: "Agent",
  label: "Delegate",
  input: {},
  ...(parentCallId === undefined ? {} : { parentCallId })
})

/** Names of the outputs, with the ids of closed calls and completed messages. */
const names = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<string> =>
  outputs.map((output) => {
    if (output._tag !== "Event") return output._tag
    const { event } = output
    if (event.type === "run.tool.result") return `result ${event.payload.callId} ${event.payload.status}`
    if (event.type === "run.message.completed") return `message ${event.payload.messageId}`
    return event.type
  })

describe("endTurn", () => {
  it("closes what the agent itself has open, and leaves its sub-agents", () => {
    const collector = new OutputCollector()
    collector.openCall(call("own"))
    collector.openCall(call("parent"))
    collector.openCall(call("child", "parent"))
    collector.openCall(call("working"))
    collector.startWork({ id: "w", kind: "agent", title: "Tests", parentCallId: "working" })
    collector.emitEvent(delta("mine"))
    collector.emitEvent(delta("theirs", "parent"))
    collector.takeOutputs()
    collector.endTurn(completed)
    assert.deepStrictEqual(names(collector.takeOutputs()), ["message mine", "result own failed", "Outcome"])
    assert.isTrue(collector.isIdle)
    assert.isTrue(collector.closeCall({ callId: "child", status: "completed" }))
    assert.isFalse(collector.isOver)
  })

  it("emits each outcome of several turns", () => {
    const collector = new OutputCollector()
    collector.endTurn(completed)
    collector.startTurn()
    assert.isFalse(collector.isIdle)
    collector.endTurn({ _tag: "Failed", error: runtimeFailure("model_call_failed", "No.") })
    assert.deepStrictEqual(names(collector.takeOutputs()), [
      "Outcome",
      "TurnStarted",
      "runtime.unavailable",
      "Outcome"
    ])
  })
})

describe("concludeAtExit", () => {
  it("keeps the last outcome between turns, and closes what sub-agents have open", () => {
    const collector = new OutputCollector()
    collector.openCall(call("child", "parent"))
    collector.endTurn(completed)
    collector.takeOutputs()
    collector.concludeAtExit("Sample", exited)
    assert.deepStrictEqual(names(collector.takeOutputs()), ["result child failed"])
    assert.isTrue(collector.isOver)
  })

  it("fails a further turn without an outcome", () => {
    const collector = new OutputCollector()
    collector.endTurn(completed)
    collector.startTurn()
    collector.takeOutputs()
    collector.concludeAtExit("Sample", exited)
    assert.deepStrictEqual(names(collector.takeOutputs()), ["runtime.unavailable", "Outcome"])
  })
})

describe("background work", () => {
  it("starts once and ends once, and can start again", () => {
    const collector = new OutputCollector()
    const work = { id: "w", kind: "command", title: "npm start" } as const
    collector.work({ ...work, state: "running" })
    collector.work({ ...work, state: "running" })
    assert.deepStrictEqual(collector.outstandingWork, ["w"])
    collector.work({ ...work, title: "", state: "completed", continues: true })
    collector.endWork("w", "failed")
    assert.deepStrictEqual(collector.takeOutputs(), [
      { _tag: "Work", ...work, state: "running" },
      { _tag: "Work", ...work, state: "completed", continues: true }
    ])
  })
})

describe("requestInput", () => {
  it("asks, answers and withdraws each key once", () => {
    const collector = new OutputCollector()
    const request = { kind: "question", title: "Which colour?", questions: [] } as const
    assert.isTrue(collector.requestInput("a", request))
    assert.isFalse(collector.requestInput("a", request))
    assert.isTrue(collector.takeResponse("a"))
    assert.isFalse(collector.takeResponse("a"))
    assert.isFalse(collector.withdrawInput("a", "withdrawn"))
    assert.isTrue(collector.requestInput("b", request))
    assert.isTrue(collector.withdrawInput("b", "self_answered"))
    assert.isFalse(collector.takeResponse("b"))
    assert.isFalse(collector.takeResponse("c"))
  })

  it("reports questions and options that it does not show", () => {
    const option = (at: number) => ({ id: `${at}`, label: `Option ${at}` })
    const question = (at: number, options: number) => ({
      id: `${at}`,
      text: "Which?",
      kind: "choice" as const,
      options: Array.from({ length: options }, (_, index) => option(index))
    })
    for (const questions of [
      Array.from({ length: MAX_QUESTIONS + 1 }, (_, at) => question(at, 2)),
      [question(0, MAX_OPTIONS + 1)],
      [{ ...question(0, 1), text: "long ".repeat(5_000) }]
    ]) {
      const collector = new OutputCollector()
      collector.requestInput("a", { kind: "question", title: "Which?", questions })
      assert.deepStrictEqual(names(collector.takeOutputs()), ["run.notice", "InputRequested"])
    }
  })

  it("shows the beginning of a long plan, and has the whole as an artifact", () => {
    const plan = "step\n".repeat(MAX_INPUT_TEXT)
    const collector = new OutputCollector()
    collector.requestInput("a", { kind: "plan", title: "Plan", plan })
    const [artifact, requested] = collector.takeOutputs()
    assert.deepStrictEqual(artifact, {
      _tag: "Artifact",
      name: "plan.md",
      mediaType: "text/markdown",
      content: plan
    })
    assert.strictEqual(
      requested?._tag === "InputRequested" ? requested.request.plan?.length : undefined,
      MAX_INPUT_TEXT
    )
  })
})

describe("steps", () => {
  it("emits a list only if it has changed, for each sub-agent", () => {
    const collector = new OutputCollector()
    const list = [{ id: "1", text: "Read", state: "pending" }] as const
    collector.steps([])
    collector.steps(list)
    collector.steps(list)
    collector.steps(list, "parent")
    collector.steps([])
    assert.strictEqual(collector.takeOutputs().length, 3)
  })

  it("shows the first steps of a long list, and says so once", () => {
    const collector = new OutputCollector()
    const list = (state: "pending" | "completed") =>
      Array.from({ length: MAX_STEPS + 1 }, (_, at) => ({ id: `${at}`, text: "x".repeat(9_000), state }))
    collector.steps(list("pending"))
    collector.steps(list("completed"))
    assert.deepStrictEqual(names(collector.takeOutputs()), [
      "run.notice",
      "run.steps.updated",
      "run.steps.updated"
    ])
  })
})

describe("many open calls", () => {
  /** Operations of 20 turns that end while calls of sub-agents are open. */
  const operationsOf = (open: number): number => {
    const collector = new OutputCollector()
    for (let n = 0; n < open; n++) {
      collector.openCall(call(`agent ${n}`))
      collector.openCall(call(`inner ${n}`, `agent ${n}`))
    }
    for (let n = 0; n < Math.min(open, 500); n++)
      collector.startWork({ id: `w${n}`, kind: "agent", title: "Work", parentCallId: `agent ${n}` })
    collector.takeOutputs()
    return countOperations(() => {
      for (let turn = 0; turn < 20; turn++) {
        collector.openCall(call(`own ${turn}`))
        collector.closeCall({ callId: `inner ${turn}`, status: "completed" })
        collector.endWork(`w${turn}`, "completed")
        collector.endTurn(completed)
        collector.startTurn()
      }
      collector.takeOutputs()
    })
  }

  it("costs a turn the same number of operations however many calls are open", () => {
    assert.isAtMost(operationsOf(3_000), operationsOf(30) + 20)
  })
})
