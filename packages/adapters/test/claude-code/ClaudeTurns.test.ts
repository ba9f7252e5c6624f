import { MachineRun } from "@corral/conformance/Invariants"
import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { load } from "@corral/testing/recordings/Fixtures"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { claudeCode } from "../../src/ClaudeCode.ts"

const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }
const send = (protocol: Protocol, ...values: ReadonlyArray<object>): ReadonlyArray<AdapterOutput> =>
  values.flatMap((value) => protocol.step(Buffer.from(`${JSON.stringify(value)}\n`)))

const init = { type: "system", subtype: "init", session_id: "s", model: "m" }
const state = (name: string) => ({ type: "system", subtype: "session_state_changed", state: name })
const result = (text: string, more = {}) => ({
  type: "result",
  subtype: "success",
  is_error: false,
  num_turns: 1,
  result: text,
  ...more
})
const tasks = (...ids: ReadonlyArray<string>) => ({
  type: "system",
  subtype: "background_tasks_changed",
  tasks: ids.map((id) => ({ task_id: id, task_type: "local_bash", description: "npm start" }))
})
const notified = (id: string, status = "completed") => ({
  type: "system",
  subtype: "task_notification",
  task_id: id,
  status
})

/** Tags of the outputs, with the text of the outcome. */
const tags = (outputs: ReadonlyArray<AdapterOutput>): ReadonlyArray<string> =>
  outputs.flatMap((output) => {
    if (output._tag === "Event" || output._tag === "Usage") return []
    if (output._tag === "Work") return [`${output.state}${output.continues === true ? ", continues" : ""}`]
    const outcome =
      output._tag === "Outcome" ? output.outcome : output._tag === "TurnStarted" ? output.ended : undefined
    return [outcome?._tag === "Completed" ? `${output._tag} ${outcome.text ?? ""}` : output._tag]
  })

const started = (prints: "state" | "no state"): Protocol => {
  const protocol = claudeCode.protocol(start)
  send(protocol, ...(prints === "state" ? [state("running")] : []), init)
  return protocol
}

describe("ClaudeTurns", () => {
  it("ends the turn with the result when the program prints no state", () => {
    assert.deepStrictEqual(tags(send(started("no state"), result("Done."))), ["Outcome Done."])
  })

  it("waits with the outcome until the program is idle", () => {
    const protocol = started("state")
    assert.deepStrictEqual(tags(send(protocol, result("Done."), state("running"))), [])
    assert.deepStrictEqual(tags(send(protocol, state("idle"))), ["Outcome Done."])
  })

  it("emits no outcome for a turn that the program follows by another", () => {
    const protocol = started("state")
    send(protocol, tasks("a"), tasks("a"))
    const outputs = send(protocol, notified("a"), tasks(), result("First."), init, result("Second."))
    assert.deepStrictEqual(tags(outputs), ["completed", "TurnStarted First."])
    assert.deepStrictEqual(tags(send(protocol, state("idle"))), ["Outcome Second."])
  })

  it("ignores a turn in which nothing happened", () => {
    const protocol = started("state")
    const empty = result("", { num_turns: 0, origin: { kind: "task-notification" } })
    const outputs = send(protocol, result("First."), init, empty, init, result("Second."), state("idle"))
    assert.deepStrictEqual(tags(outputs), ["TurnStarted First.", "Outcome Second."])
    const last = started("state")
    assert.deepStrictEqual(tags(send(last, result("First."), init, empty, state("idle"))), [
      "TurnStarted First.",
      "Outcome First."
    ])
  })

  it("emits the outcome at once while work is outstanding, and starts the turn that follows its end", () => {
    const protocol = started("state")
    assert.deepStrictEqual(tags(send(protocol, tasks("a"), result("It runs."))), [
      "running",
      "Outcome It runs."
    ])
    assert.deepStrictEqual(tags(send(protocol, notified("a"), tasks(), init)), [
      "completed, continues",
      "TurnStarted"
    ])
  })

  it("ends work as stopped when the program stopped it", () => {
    const protocol = started("state")
    const outputs = send(protocol, tasks("a", "b"), notified("a", "stopped"), tasks("b"), tasks())
    assert.deepStrictEqual(tags(outputs), ["running", "running", "stopped", "stopped"])
  })

  it("does not follow tasks of the foreground, nor those that are no activity", () => {
    const protocol = started("state")
    const foreground = { type: "system", subtype: "task_started", task_id: "f", is_backgrounded: false }
    const watcher = { task_id: "w", task_type: "local_bash", description: "watch", ambient: true }
    const list = { type: "system", subtype: "background_tasks_changed", tasks: [watcher] }
    assert.deepStrictEqual(tags(send(protocol, foreground, notified("f"), list, result("Done."))), [])
  })

  it("writes a message at once while the program is idle, and one at a time", () => {
    const protocol = started("state")
    send(protocol, tasks("a"), result("It runs."))
    assert.include(protocol.input("One."), `"content":"One."`)
    assert.strictEqual(protocol.input("Two."), "")
    // The state of the turn before: the program has not read the message yet.
    assert.deepStrictEqual(tags(send(protocol, state("idle"))), [])
    assert.deepStrictEqual(tags(send(protocol, state("running"), init)), ["TurnStarted"])
    const [reply] = send(protocol, result("Answer to one.")).filter(({ _tag }) => _tag === "Reply")
    assert.include(reply?._tag === "Reply" ? reply.text : "", `"content":"Two."`)
    assert.deepStrictEqual(tags(send(protocol, state("idle"), init)), ["TurnStarted Answer to one."])
  })

  it("writes a message that comes between a result and the idle state", () => {
    const protocol = started("state")
    send(protocol, result("Done."))
    assert.strictEqual(protocol.input("More."), "")
    assert.deepStrictEqual(tags(send(protocol, state("idle"))), ["Reply"])
    assert.deepStrictEqual(tags(send(protocol, init, result("More done."), state("idle"))), [
      "TurnStarted Done.",
      "Outcome More done."
    ])
  })

  it("fails a run whose program ends before it is idle, or before it has read a message", () => {
    for (const lines of [[result("Done.")], [result("Done."), state("idle"), init]]) {
      const protocol = started("state")
      send(protocol, ...lines)
      const outputs = protocol.end({ code: 0, signal: null, stderr: "" })
      const outcome = outputs.findLast(({ _tag }) => _tag === "Outcome")
      assert.strictEqual(outcome?._tag === "Outcome" ? outcome.outcome._tag : undefined, "Failed")
    }
  })

  it("fails when the limit of turns is reached", () => {
    const failed = { type: "result", subtype: "error_max_turns", is_error: false, num_turns: 3 }
    const outcome = send(started("no state"), failed).find(({ _tag }) => _tag === "Outcome")
    assert(outcome?._tag === "Outcome" && outcome.outcome._tag === "Failed")
    assert.deepInclude(outcome.outcome.error.details, { reason: "turn_limit" })
  })

  it("follows a goal as work until it is met", () => {
    const goal = (value: unknown) => ({ type: "active_goal", value })
    const protocol = started("state")
    const outputs = send(
      protocol,
      goal({ condition: "Tests pass." }),
      goal({ condition: "Tests pass." }),
      goal(null)
    )
    assert.deepStrictEqual(tags(outputs), ["running", "completed"])
  })
})

describe("a line that is too long to be read", () => {
  const long = "x".repeat(9_000_000)

  it("is refused when it requests something", () => {
    const outputs = send(started("state"), {
      type: "control_request",
      request_id: "r1",
      request: { subtype: "can_use_tool", tool_name: "Write", input: { content: long } }
    })
    const reply = outputs.find(({ _tag }) => _tag === "Reply")
    assert.include(reply?._tag === "Reply" ? reply.text : "", `"behavior":"deny"`)
  })

  it("closes the call whose result it has", () => {
    const protocol = started("state")
    const call = { type: "tool_use", id: "call-1", name: "Read", input: { file_path: "/workspace/a" } }
    send(protocol, { type: "assistant", message: { id: "m", content: [call] } })
    const content = [{ tool_use_id: "call-1", type: "tool_result", content: long }]
    const outputs = send(protocol, { type: "user", message: { role: "user", content } })
    assert.isTrue(
      outputs.some((output) => output._tag === "Event" && output.event.type === "run.tool.result")
    )
  })

  it("ends the turn when it is the result", () => {
    const outputs = send(started("no state"), {
      is_error: false,
      total_cost_usd: 0.1,
      num_turns: 1,
      result: long,
      type: "result"
    })
    assert.deepStrictEqual(tags(outputs), ["Outcome "])
  })
})

const recordings = [
  "command-in-background",
  "commands-end-in-turn",
  "planned-job",
  "child-in-background",
  "child-in-background-with-state",
  "child-of-a-child"
]

describe("a recording with background work", () => {
  for (const name of recordings)
    it(`${name}: never completes with unfinished work, wherever it ends`, () => {
      const recording = load("claude-code", name)
      const lines = recording.stdout.toString().trimEnd().split("\n")
      const outputs = [...lines.keys()].map((at) => {
        const protocol = claudeCode.protocol(recording.start)
        const text = lines.slice(0, at + 1).map((line) => `${line}\n`)
        return [...protocol.step(Buffer.from(text.join(""))), ...protocol.end(recording.exit)]
      })
      let [complete, unfinished] = [0, 0]
      for (const each of outputs) {
        const { appended } = new MachineRun(each)
        const isUnfinished = appended.some(
          ({ payload, type }) =>
            type === "run.work.ended" && "state" in payload && payload.state === "unfinished"
        )
        const isCompleted = appended.at(-1)?.type === "run.completed"
        assert.isFalse(isUnfinished && isCompleted)
        if (isUnfinished) unfinished++
        if (isCompleted) complete++
      }
      assert.isAbove(unfinished, 0)
      assert.isAbove(complete, 0)
    })

  it("counts the tokens of sub-agents once", () => {
    const recording = load("claude-code", "child-in-background")
    const protocol = claudeCode.protocol(recording.start)
    const outputs = [...protocol.step(recording.stdout), ...protocol.end(recording.exit)]
    const totals = outputs.flatMap((output) => {
      if (output._tag === "Usage") return [output.usage]
      return output._tag === "Outcome" && output.outcome.usage !== undefined ? [output.outcome.usage] : []
    })
    assert.deepInclude(totals.at(-1), { inputTokens: 600, outputTokens: 252, costUsd: 0.00558 })
    for (const field of ["inputTokens", "outputTokens", "turns"] as const) {
      const counts = totals.map((total) => total[field] ?? 0)
      assert.deepStrictEqual(
        counts,
        counts.toSorted((a, b) => a - b)
      )
    }
  })
})
