import type { Outcome } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { MachineRun } from "@corral/conformance/Invariants"
import { joinLines, splitLines } from "@corral/conformance/Hostile"
import { cut, randomSizes, replay } from "@corral/conformance/Replay"
import { load } from "@corral/testing/recordings/Fixtures"
import { codex } from "../../src/Codex.ts"
import {
  events,
  item,
  names,
  parsed,
  replies,
  send,
  startProtocol,
  statusChanged,
  turnCompleted,
  turnStarted
} from "./Conversation.ts"

const spawn = (state: "started" | "completed", receivers: ReadonlyArray<string>) =>
  item(state, {
    type: "collabAgentToolCall",
    id: "spawn",
    tool: "spawnAgent",
    status: state === "started" ? "inProgress" : "completed",
    prompt: "Write the tests.",
    receiverThreadIds: receivers
  })

const command = (state: "started" | "completed", exitCode: number | null = null, threadId = "own") =>
  item(
    state,
    {
      type: "commandExecution",
      id: "server",
      command: "/bin/bash -lc 'npm start'",
      cwd: "/workspace",
      status: state === "started" ? "inProgress" : exitCode === 0 ? "completed" : "failed",
      exitCode,
      aggregatedOutput: state === "started" ? null : "Ready.\n"
    },
    threadId
  )

describe("sub-agents of Codex", () => {
  it("are work until their turn ends, also after the turn of the agent", () => {
    const protocol = startProtocol()
    const outputs = send(
      protocol,
      spawn("started", []),
      spawn("completed", ["child"]),
      turnCompleted("turn-1"),
      turnStarted("turn-c", "child"),
      item("completed", { type: "agentMessage", id: "m", text: "Written." }, "child"),
      turnCompleted("turn-c", "child")
    )
    assert.deepStrictEqual(names(outputs), [
      "run.tool.call",
      "agent running",
      "run.tool.result",
      "Completed",
      "run.message.completed",
      "agent completed"
    ])
    assert.deepInclude(outputs[1], { id: "child", title: "Write the tests.", parentCallId: "spawn" })
  })

  it("belong to the call that is starting one, if they start before the call has ended", () => {
    const outputs = send(
      startProtocol(),
      spawn("started", []),
      turnStarted("turn-c", "child"),
      spawn("completed", ["child"])
    )
    const work = outputs.filter(({ _tag }) => _tag === "Work")
    assert.deepStrictEqual(work, [
      {
        _tag: "Work",
        id: "child",
        kind: "agent",
        title: "Write the tests.",
        parentCallId: "spawn",
        state: "running"
      }
    ])
  })

  it("work again for a further turn, and stop when they are interrupted", () => {
    const outputs = send(
      startProtocol(),
      spawn("completed", ["child"]),
      turnStarted("turn-c", "child"),
      turnCompleted("turn-c", "child"),
      turnStarted("turn-d", "child"),
      turnCompleted("turn-d", "child", "interrupted")
    )
    assert.deepStrictEqual(
      names(outputs).filter((name) => name.startsWith("agent")),
      ["agent running", "agent completed", "agent running", "agent stopped"]
    )
  })

  it("name their parent in approvals and files", () => {
    const protocol = startProtocol()
    const change = {
      type: "fileChange",
      id: "patch",
      changes: [{ path: "/workspace/a.ts", kind: { type: "add" }, diff: "a\n" }],
      status: "completed"
    }
    const outputs = send(
      protocol,
      spawn("completed", ["child"]),
      item("started", change, "child"),
      { id: 4, method: "item/fileChange/requestApproval", params: { threadId: "child", itemId: "patch" } },
      item("completed", change, "child")
    )
    const approval = outputs.find(({ _tag }) => _tag === "Approval")
    assert.strictEqual(approval?._tag === "Approval" ? approval.request.parentCallId : "", "spawn")
    const changed = events(outputs).find(({ type }) => type === "run.file.changed")
    assert.deepInclude(changed?.payload, { path: "a.ts", callId: "patch", parentCallId: "spawn" })
  })

  it("are interrupted with the agent", () => {
    const protocol = startProtocol()
    send(protocol, spawn("completed", ["child"]), turnStarted("turn-c", "child"))
    assert.deepStrictEqual(
      parsed(protocol.cancel()).map((request) => Object(request).params.turnId),
      ["turn-1", "turn-c"]
    )
  })
})

describe("commands of Codex", () => {
  it("that are running at the end of the turn are work, and their result comes first", () => {
    const outputs = send(
      startProtocol(),
      command("started"),
      turnCompleted("turn-1"),
      command("completed", 0)
    )
    assert.deepStrictEqual(names(outputs), [
      "run.tool.call",
      "command running",
      "Completed",
      "run.tool.result",
      "command completed"
    ])
    assert.deepInclude(outputs[1], { id: "server", title: "Run npm start", parentCallId: "server" })
  })

  it("fail as work if they fail, and are no work if they end with the turn", () => {
    const failed = send(startProtocol(), command("started"), turnCompleted("turn-1"), command("completed", 3))
    assert.strictEqual(names(failed).at(-1), "command failed")
    const ended = send(startProtocol(), command("started"), command("completed", 0), turnCompleted("turn-1"))
    assert.isFalse(ended.some(({ _tag }) => _tag === "Work"))
  })

  it("of a sub-agent continue after it", () => {
    const outputs = send(
      startProtocol(),
      spawn("completed", ["child"]),
      turnStarted("turn-c", "child"),
      command("started", null, "child"),
      turnCompleted("turn-1"),
      turnCompleted("turn-c", "child"),
      command("completed", 0, "child")
    )
    assert.deepStrictEqual(
      names(outputs).filter((name) => /^(?:agent|command)/.test(name)),
      ["agent running", "command running", "agent completed", "command completed"]
    )
  })
})

describe("goals of Codex", () => {
  const goal = (status: string) => ({
    method: "thread/goal/updated",
    params: { threadId: "own", goal: { objective: "Finish the task", status } }
  })

  it("are work while they are active, and start turns", () => {
    const outputs = send(
      startProtocol(),
      goal("active"),
      goal("active"),
      turnCompleted("turn-1"),
      turnStarted("turn-2"),
      goal("complete"),
      turnCompleted("turn-2")
    )
    assert.deepStrictEqual(names(outputs), [
      "goal running",
      "Completed",
      "TurnStarted",
      "goal completed",
      "Completed"
    ])
  })

  it("end when they are blocked, limited, paused or cleared", () => {
    for (const [status, state] of [
      ["blocked", "failed"],
      ["budgetLimited", "failed"],
      ["usageLimited", "failed"],
      ["paused", "stopped"],
      ["dreamt", "stopped"]
    ])
      assert.strictEqual(
        names(send(startProtocol(), goal("active"), goal(`${status}`))).at(-1),
        `goal ${state}`
      )
    const cleared = { method: "thread/goal/cleared", params: { threadId: "own" } }
    assert.strictEqual(names(send(startProtocol(), goal("active"), cleared)).at(-1), "goal stopped")
  })
})

describe("turns of Codex", () => {
  it("start with a message while nothing else runs, and with a queued one at the end of the turn", () => {
    const protocol = startProtocol()
    assert.strictEqual(protocol.input("Second."), "")
    const [started] = send(protocol, turnCompleted("turn-1"))
    assert.deepInclude(started, { _tag: "TurnStarted", by: "message" })
    send(protocol, turnStarted("turn-2"), turnCompleted("turn-2"))
    assert.deepInclude(Object(parsed(protocol.input("Third."))[0]).params.input[0], { text: "Third." })
    assert.strictEqual(protocol.input("Fourth."), "")
    assert.deepInclude(send(protocol, turnStarted("turn-3"))[0], { _tag: "TurnStarted", by: "message" })
  })

  it("of an earlier run end nothing", () => {
    const protocol = codex.protocol({
      prompt: "Continue.",
      mode: "ask",
      workspacePath: "/workspace",
      resumeSessionId: "own"
    })
    send(protocol, { id: 0, result: {} }, { id: 1, result: { thread: { id: "own" }, model: "m" } })
    assert.deepStrictEqual(send(protocol, turnCompleted("turn-0")), [])
  })

  const endOf = (response: object, status = "idle"): Outcome | undefined => {
    const protocol = startProtocol()
    const [request] = replies(send(protocol, statusChanged(status)))
    assert.deepInclude(request, { method: "thread/turns/list" })
    const outcome = send(protocol, { id: Object(request).id, ...response }).at(-1)
    return outcome?._tag === "Outcome" ? outcome.outcome : undefined
  }

  it("end as Codex says if their end was not reported", () => {
    const turn = (status: string, id = "turn-1") => ({ result: { data: [{ id, status }] } })
    assert.strictEqual(endOf(turn("completed"))?._tag, "Completed")
    assert.strictEqual(endOf(turn("interrupted"))?._tag, "Cancelled")
    assert.strictEqual(endOf(turn("failed"))?._tag, "Failed")
    assert.isUndefined(endOf(turn("inProgress")))
  })

  it("end as the thread's status says if Codex does not know", () => {
    const error = { error: { code: -32_601, message: "unknown method" } }
    assert.strictEqual(endOf(error)?._tag, "Completed")
    assert.strictEqual(endOf(error, "systemError")?._tag, "Failed")
  })

  it("end once", () => {
    const protocol = startProtocol()
    const [request] = replies(send(protocol, statusChanged("idle")))
    assert.strictEqual(send(protocol, turnCompleted("turn-1")).length, 1)
    const response = { id: Object(request).id, result: { data: [{ id: "turn-1", status: "completed" }] } }
    assert.deepStrictEqual(send(protocol, response, turnCompleted("turn-1"), turnStarted("turn-1")), [])
  })
})

/** Recordings whose program works after its first turn. */
const background = [
  "background-command",
  "goal",
  "sub-agent-by-activity",
  "sub-agent-writes",
  "sub-agents",
  "message-while-idle"
]

describe("recordings of background work", () => {
  for (const name of background) {
    it(`${name}: never completes when its output is cut between two lines`, () => {
      const recording = load("codex", name)
      const lines = splitLines(recording.stdout)
      const complete = (count: number): boolean => {
        const outputs = replay(codex, recording, [joinLines(lines.slice(0, count))])
        return new MachineRun(outputs).state.status === "completed"
      }
      const first = lines.findIndex((_, at) => complete(at + 1))
      const last = lines.findLastIndex((line) => {
        const { method, params } = JSON.parse(Buffer.from(line).toString("utf8"))
        return (
          method === "turn/completed" ||
          (method === "item/completed" && params.item.type === "commandExecution")
        )
      })
      assert.strictEqual(first, last)
    })

    it(`${name}: gives the same outputs for any reads`, () => {
      const recording = load("codex", name)
      const whole = replay(codex, recording, [recording.stdout])
      const sizes = [1, 7, 64, 4_096].map((size) => Array<number>(recording.stdout.length).fill(size))
      for (const reads of [
        ...sizes,
        ...Array.from({ length: 5 }, (_, seed) => randomSizes(recording.stdout, seed))
      ])
        assert.deepStrictEqual(replay(codex, recording, cut(recording.stdout, reads)), whole)
    })
  }
})
