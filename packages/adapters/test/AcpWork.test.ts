import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { assert, describe, it } from "@effect/vitest"
import { acpAgents } from "../src/acp/AcpAgents.ts"
import { modes, options, permissionRequest, plain, Talk } from "./AcpTalk.ts"

const opened = (agent: "claudeAgent" | "codex" | "qwen" | "kimi") => {
  const wanted = acpAgents[agent].modes.ask
  return new Talk(acpAgents[agent]).open(modes(wanted, wanted, "plan"))
}
/** Ends the turn of the prompt in progress, with its barrier. */
const endTurn = (talk: Talk): void => {
  const prompt = talk.written.findLast(({ method }) => method === "session/prompt")
  talk.send({ id: prompt?.id, result: { stopReason: "end_turn" } })
  talk.error(-32601, "Method not found")
}
const content = (text: string) => [{ type: "content", content: { type: "text", text } }]
const outcomes = (talk: Talk) =>
  talk.tagged("Outcome").map(({ outcome }) => (outcome._tag === "Completed" ? outcome.text : outcome._tag))
const works = (talk: Talk) =>
  talk.tagged("Work").map(({ continues, id, kind, state, title }) => [id, kind, title, state, continues])
const sound = (talk: Talk): void => {
  talk.end(null, "SIGTERM")
  assert.deepStrictEqual([...invariantFindings(talk.outputs), ...deltasJoin(talk.outputs)], [])
}

describe("Acp background work", () => {
  it("of Claude ends before the turn that it starts", () => {
    const talk = opened("claudeAgent")
    const task = { asyncTaskId: "t1", name: "build", taskType: "shell", toolCallId: "c" }
    talk.update("tool_call", { toolCallId: "c", kind: "execute", rawInput: { command: "make" } })
    talk.update("async_task_spawned", task)
    talk.update("async_task_progress", { asyncTaskId: "t1" })
    talk.update("tool_call_update", { toolCallId: "c", status: "completed", content: content("Running.") })
    talk.text("It runs.")
    endTurn(talk)
    talk.update("async_task_state_update", { asyncTaskId: "t1", state: "completed" })
    talk.update("async_task_spawned", { asyncTaskId: "turn-1", name: "Working", taskType: "turn" })
    talk.text("It is done.")
    talk.update("async_task_state_update", { asyncTaskId: "turn-1", state: "completed" })
    assert.deepStrictEqual(works(talk), [
      ["t1", "command", "build", "running", undefined],
      ["t1", "command", "build", "completed", true]
    ])
    assert.deepStrictEqual(outcomes(talk), ["It runs.", "It is done."])
    const shape = talk.shape.filter((tag) => ["Outcome", "Work", "TurnStarted"].includes(tag))
    assert.deepStrictEqual(shape, ["Work", "Outcome", "Work", "TurnStarted", "Outcome"])
    sound(talk)
  })

  describe("planned by Claude", () => {
    const call = (talk: Talk, toolCallId: string, name: string, text: string, rawInput: object = {}) => {
      talk.update("tool_call", { toolCallId, name, kind: "other", title: name, status: "pending" })
      talk.update("tool_call_update", { toolCallId, rawInput })
      talk.update("tool_call_update", { toolCallId, status: "completed", content: content(text) })
    }
    const turn = (talk: Talk, cause: string, at: "beginning" | "later", inside = () => {}) => {
      const task = { asyncTaskId: "turn-1", name: "Working", taskType: "turn" }
      talk.update("async_task_spawned", { ...task, description: at === "beginning" ? cause : "Working" })
      if (at === "later") talk.update("async_task_progress", { asyncTaskId: "turn-1", description: cause })
      inside()
      talk.text("It is done.")
      talk.update("async_task_state_update", { asyncTaskId: "turn-1", state: "completed" })
    }
    const states = (talk: Talk) => talk.tagged("Work").map(({ id, state }) => [id, state])
    const oneShot = "Scheduled one-shot task 6c5ce954 (Every minute). Session-only (not written to disk)."
    const recurring = "Scheduled recurring job 7d00aa11 (Every hour). Session-only (not written to disk)."

    it.each([
      [
        "ScheduleWakeup",
        "Next wakeup scheduled for 10:06:00 (in 75s).",
        "A scheduled wakeup fired.",
        "timer c"
      ],
      ["CronCreate", oneShot, "A scheduled task fired.", "timer 6c5ce954"]
    ])("is outstanding until its turn starts: %s", (tool, text, cause, id) => {
      for (const at of ["beginning", "later"] as const) {
        const talk = opened("claudeAgent")
        call(talk, "c", tool, text, { reason: "check", prompt: "check" })
        talk.text("Later.")
        endTurn(talk)
        turn(talk, cause, at)
        assert.deepStrictEqual(states(talk), [
          [id, "running"],
          [id, "completed"]
        ])
        assert.deepStrictEqual(outcomes(talk), ["Later.", "It is done."])
        // A turn that has started is not announced again: its outcome would wait for another one.
        assert.strictEqual(talk.tagged("Work").at(-1)?.continues === true, at === "beginning")
        sound(talk)
      }
    })

    it("stays if a recurring job may have been due, and ends when it is deleted", () => {
      const talk = opened("claudeAgent")
      call(talk, "c", "CronCreate", recurring)
      call(talk, "d", "CronCreate", oneShot)
      endTurn(talk)
      turn(talk, "A scheduled task fired.", "later", () => {
        assert.lengthOf(talk.tagged("Work"), 2)
        call(talk, "e", "CronDelete", "Cancelled job 7d00aa11.")
      })
      assert.deepStrictEqual(states(talk).at(-1), ["timer 7d00aa11", "stopped"])
      sound(talk)
    })

    it("is no work if it outlives the program, was refused or was stopped", () => {
      const talk = opened("claudeAgent")
      call(
        talk,
        "c",
        "CronCreate",
        "Scheduled recurring job 1 (Daily). Persisted to .claude/scheduled_tasks.json."
      )
      call(talk, "d", "CronCreate", "Too many jobs.")
      call(talk, "e", "ScheduleWakeup", "The loop has ended.")
      call(talk, "f", "CronDelete", "No such job.")
      assert.deepStrictEqual(talk.tagged("Work"), [])
      sound(talk)
    })
  })

  it("of Codex keeps its call open until the command ends", () => {
    const talk = opened("codex")
    talk.update("tool_call", {
      toolCallId: "c",
      kind: "execute",
      status: "in_progress",
      rawInput: { command: "sleep 9" }
    })
    talk.update("async_task_spawned", {
      asyncTaskId: "c",
      name: "sleep 9",
      taskType: "shell",
      toolCallId: "c"
    })
    talk.text("It runs.")
    endTurn(talk)
    assert.isEmpty(talk.payloads("run.tool.result"))
    talk.update("async_task_state_update", { asyncTaskId: "c", state: "failed" })
    talk.update("tool_call_update", {
      toolCallId: "c",
      status: "failed",
      _meta: { terminal_exit: { exit_code: 3 } }
    })
    assert.deepInclude(talk.payloads("run.tool.result")[0], { callId: "c", status: "failed", exitCode: 3 })
    assert.deepStrictEqual(works(talk).at(-1), ["c", "command", "sleep 9", "failed", undefined])
    sound(talk)
  })

  it("of Qwen is named by the result of its call, and ends by a message", () => {
    const talk = opened("qwen")
    const text = "Background shell started.\nid: bg_1\npid: 7"
    const call = {
      toolCallId: "c",
      kind: "execute",
      title: "Shell",
      rawInput: { command: "make", description: "Build" }
    }
    talk.update("tool_call", call)
    talk.update("tool_call_update", { toolCallId: "c", status: "completed", content: content(text) })
    endTurn(talk)
    const report = { backgroundTask: { taskId: "bg_1", status: "completed" } }
    const line = "Background shell completed."
    talk.text(line, { _meta: { source: "background_task_completed", ...report } })
    talk.send({ id: "start", method: "_qwencode/start_turn", params: { taskId: "bg_1" } })
    talk.text(line, { _meta: { source: "background_notification", ...report } })
    talk.text("It is done.", { _meta: { source: "background_notification_response", ...report } })
    talk.send({ method: "_qwencode/end_turn", params: { reason: "end_turn" } })
    assert.deepStrictEqual(works(talk), [
      ["bg_1", "command", "Build", "running", undefined],
      ["bg_1", "command", "Build", "completed", true]
    ])
    assert.deepStrictEqual(talk.payloads("run.notice"), [{ kind: "other", text: line }])
    assert.deepStrictEqual(outcomes(talk), [undefined, "It is done."])
    sound(talk)
  })

  it("is outstanding where the agent does not report its end", () => {
    const talk = opened("kimi")
    // Its mode is always set.
    talk.result({})
    talk.update("tool_call", { toolCallId: "c", kind: "execute", title: "Bash" })
    const text = "task_id: bash-1\npid: 7\ndescription: bg\nstatus: running\nautomatic_notification: true"
    talk.update("tool_call_update", {
      toolCallId: "c",
      status: "completed",
      rawOutput: text,
      content: content(text)
    })
    talk.text("It runs.")
    endTurn(talk)
    assert.deepStrictEqual(works(talk), [["bash-1", "command", "Bash", "running", undefined]])
    sound(talk)
  })

  it("planned by Kimi is outstanding", () => {
    const talk = opened("kimi")
    talk.result({})
    talk.update("tool_call", { toolCallId: "c", kind: "other", title: "CronCreate" })
    const text = "id: 01M8GTK3\ncron: * * * * *\nhumanSchedule: every minute\nrecurring: false"
    talk.update("tool_call_update", { toolCallId: "c", status: "completed", content: content(text) })
    talk.text("Planned.")
    endTurn(talk)
    assert.deepStrictEqual(works(talk), [["01M8GTK3", "timer", "CronCreate", "running", undefined]])
    sound(talk)
  })

  it("of a goal of Kimi is outstanding until the goal is reached or blocked", () => {
    const goal = JSON.stringify({ goal: { objective: "Reach it", status: "active" } }, null, 2)
    const update = (talk: Talk, toolCallId: string, title: string, rawInput: object, text: string) => {
      talk.update("tool_call", { toolCallId, kind: "other", title, rawInput })
      talk.update("tool_call_update", { toolCallId, status: "completed", content: content(text) })
    }
    for (const [status, words, state] of [
      ["complete", "Goal completed.", "completed"],
      ["blocked", "Goal blocked.", "failed"],
      ["complete", "Goal not completed: no active goal.", "running"],
      ["active", "Goal resumed.", "running"]
    ] as const) {
      const talk = opened("kimi")
      talk.result({})
      update(talk, "c", "CreateGoal", { objective: "Reach it" }, goal)
      assert.deepStrictEqual(works(talk), [["goal", "goal", "Reach it", "running", undefined]])
      update(talk, "d", "UpdateGoal", { status }, words)
      assert.strictEqual(talk.tagged("Work").at(-1)?.state, state)
      sound(talk)
    }
  })

  it("takes a message while it runs, in a further turn", () => {
    const talk = opened("claudeAgent")
    talk.update("async_task_spawned", { asyncTaskId: "t1", name: "server", taskType: "monitor" })
    talk.text("It runs.")
    endTurn(talk)
    talk.write(talk.protocol.input("And now?"))
    assert.deepInclude(talk.last, { method: "session/prompt" })
    assert.strictEqual(talk.protocol.input("Later."), "")
    talk.text("Still running.")
    endTurn(talk)
    assert.deepInclude(talk.last?.params, { prompt: [{ type: "text", text: "Later." }] })
    endTurn(talk)
    assert.deepStrictEqual(outcomes(talk), ["It runs.", undefined])
    sound(talk)
  })

  it("of a turn that fails is a failed outcome", () => {
    const talk = opened("claudeAgent")
    endTurn(talk)
    talk.update("async_task_spawned", { asyncTaskId: "turn-1", taskType: "turn" })
    talk.update("async_task_state_update", { asyncTaskId: "turn-1", state: "failed" })
    assert.deepStrictEqual(outcomes(talk), [undefined, "Failed"])
    sound(talk)
  })

  it("of a sub-agent belongs to its call", () => {
    const talk = opened("claudeAgent")
    const child = { _meta: { claudeCode: { parentToolUseId: "c" } } }
    talk.update("tool_call", {
      toolCallId: "c",
      kind: "think",
      title: "Child",
      name: "Agent",
      status: "in_progress"
    })
    talk.text("I wait", {})
    talk.text("I work.", child)
    talk.text(" for it.", {})
    talk.update("tool_call", {
      toolCallId: "d",
      kind: "read",
      rawInput: { path: "/workspace/a" },
      status: "pending",
      ...child
    })
    talk.update("tool_call_update", { toolCallId: "d", status: "completed" })
    talk.send(
      permissionRequest({ toolCallId: "e", kind: "execute", rawInput: { command: "touch b" }, ...child })
    )
    talk.write(talk.protocol.answer("7", { decision: "allow", scope: "once" }))
    talk.update("tool_call_update", {
      toolCallId: "e",
      status: "completed",
      content: [{ type: "diff", path: "/workspace/b", oldText: null, newText: "b\n" }]
    })
    talk.update("plan", { entries: [{ content: "Look", status: "in_progress" }], ...child })
    talk.update("tool_call_update", { toolCallId: "c", status: "completed" })
    endTurn(talk)
    const nested = talk.outputs.flatMap((output) => {
      if (output._tag === "Approval") return [["Approval", output.request.parentCallId]]
      if (output._tag !== "Event") return []
      const { parentCallId } = output.event.payload as { readonly parentCallId?: string }
      return parentCallId === undefined ? [] : [[output.event.type, parentCallId]]
    })
    assert.deepStrictEqual(
      nested,
      [
        "run.message.delta",
        "run.message.completed",
        "run.tool.call",
        "run.file.read",
        "run.tool.result",
        "run.tool.call",
        "Approval",
        "run.patch.proposed",
        "run.file.changed",
        "run.tool.result",
        "run.steps.updated"
      ].map((type) => [type, "c"])
    )
    assert.deepStrictEqual(outcomes(talk), ["I wait for it."])
    sound(talk)
  })

  it("of a sub-agent with its own session is a call and work", () => {
    const talk = opened("claudeAgent")
    const inSession = (sessionId: string, update: object) =>
      talk.send({ method: "session/update", params: { sessionId, update } })
    const chunk = (text: string) => ({
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text }
    })
    const spawned = (id: string) => ({
      sessionUpdate: "subagent_spawned",
      subagentSessionId: id,
      name: id,
      prompt: "Do."
    })
    const ended = (id: string, state: string) => ({
      sessionUpdate: "subagent_state_update",
      subagentSessionId: id,
      state
    })
    inSession("s", chunk("I delegate."))
    inSession("s", spawned("a"))
    inSession("a", spawned("b"))
    inSession("b", chunk("I fail."))
    inSession("a", chunk("I work."))
    inSession("b", ended("b", "failed"))
    talk.send({
      ...permissionRequest({ toolCallId: "e", kind: "execute", rawInput: { command: "touch b" } }),
      params: { sessionId: "a", toolCall: { toolCallId: "e", kind: "execute" }, options }
    })
    assert.strictEqual(talk.requests[0]?.parentCallId, "a")
    inSession("a", ended("a", "completed"))
    talk.text("Both are back.")
    endTurn(talk)
    assert.deepStrictEqual(
      talk.payloads("run.tool.call").map(({ callId, label, parentCallId }) => [callId, label, parentCallId]),
      [
        ["a", "a", undefined],
        ["b", "b", "a"],
        ["e", "execute", "a"]
      ]
    )
    assert.deepStrictEqual(
      talk.payloads("run.message.completed").map(({ parentCallId, text }) => [text, parentCallId]),
      [
        ["I delegate.", undefined],
        ["I fail.", "b"],
        ["I work.", "a"],
        ["Both are back.", undefined]
      ]
    )
    assert.deepStrictEqual(
      works(talk).map(([id, , , state, continues]) => [id, state, continues]),
      [
        ["a", "running", undefined],
        ["b", "running", undefined],
        ["b", "failed", undefined],
        ["a", "completed", undefined]
      ]
    )
    assert.deepStrictEqual(outcomes(talk), ["Both are back."])
    sound(talk)
  })

  it("does not split a message that the agent writes meanwhile", () => {
    const talk = opened("codex")
    talk.update("tool_call", {
      toolCallId: "c",
      kind: "execute",
      status: "in_progress",
      rawInput: { command: "make" }
    })
    talk.text("It ru")
    talk.update("tool_call_update", { toolCallId: "c", _meta: { terminal_output_delta: { data: "x" } } })
    talk.text("ns.")
    endTurn(talk)
    assert.deepStrictEqual(outcomes(talk), ["It runs."])
  })
})

describe("Acp steps and notices", () => {
  it("shows the whole list of each plan, and a repeated one once", () => {
    const talk = new Talk(plain).open()
    const entries = [{ content: "First", status: "completed", priority: "high" }, { content: "Second" }]
    talk.update("plan", { entries })
    talk.update("plan", { entries })
    assert.deepStrictEqual(talk.payloads("run.steps.updated"), [
      {
        steps: [
          { id: "1", text: "First", state: "completed" },
          { id: "2", text: "Second", state: "pending" }
        ]
      }
    ])
  })

  it("shows notices and the end of a compaction", () => {
    const talk = new Talk(plain).open()
    talk.update("notice", { severity: "warning", title: "Slow", description: "The service is slow." })
    talk.update("notice", { severity: "info", title: "Ready" })
    talk.update("compaction_update", { compactionId: "1", status: "in_progress" })
    talk.update("compaction_summary_chunk", { compactionId: "1", content: { type: "text", text: "…" } })
    talk.update("compaction_update", { compactionId: "1", status: "completed" })
    talk.update("compaction_update", { compactionId: "2", status: "failed", error: "No space." })
    assert.deepStrictEqual(talk.payloads("run.notice"), [
      { kind: "warning", text: "Slow\nThe service is slow." },
      { kind: "other", text: "Ready" },
      { kind: "compacted", text: "The conversation was compacted." },
      { kind: "warning", text: "The conversation could not be compacted.\nNo space." }
    ])
    assert.isEmpty(talk.tagged("Unknown"))
  })
})

describe("Acp content", () => {
  const png = Buffer.from("picture").toString("base64")
  const blocks = [
    { type: "image", data: png, mimeType: "image/png" },
    { type: "audio", data: png, mimeType: "audio/wav" },
    {
      type: "resource",
      resource: { uri: "file:///tmp/report.md", text: "# Report", mimeType: "text/markdown" }
    },
    { type: "resource", resource: { uri: "mem://x", blob: png } },
    { type: "resource_link", uri: "https://example.test/log", name: "Log" },
    { type: "text", text: "Done." }
  ]

  it("of a result becomes artifacts of its call, before the result", () => {
    const talk = new Talk(plain).open()
    talk.update("tool_call", {
      toolCallId: "c",
      kind: "other",
      status: "completed",
      content: blocks.map((block) => ({ type: "content", content: block }))
    })
    assert.deepStrictEqual(
      talk
        .tagged("Artifact")
        .map(({ callId, content, mediaType, name }) => [name, mediaType, `${content}`, callId]),
      [
        ["image.png", "image/png", "picture", "c"],
        ["audio.wav", "audio/wav", "picture", "c"],
        ["report.md", "text/markdown", "# Report", "c"],
        ["x", "application/octet-stream", "picture", "c"]
      ]
    )
    assert.strictEqual(talk.payloads("run.tool.result")[0]?.output, "Log: https://example.test/log\nDone.")
    assert.isBelow(talk.shape.indexOf("Artifact"), talk.shape.indexOf("run.tool.result"))
    endTurn(talk)
    sound(talk)
  })

  it("of a message is an artifact, and a link is text", () => {
    const talk = new Talk(plain).open()
    for (const block of blocks) talk.update("agent_message_chunk", { content: block })
    assert.lengthOf(talk.tagged("Artifact"), 4)
    endTurn(talk)
    assert.deepStrictEqual(outcomes(talk), ["Log: https://example.test/logDone."])
    sound(talk)
  })

  it("of a command has no fence", () => {
    const talk = opened("claudeAgent")
    const text = "```console\na\nb\n```"
    talk.update("tool_call", {
      toolCallId: "c",
      kind: "execute",
      status: "completed",
      content: content(text)
    })
    assert.strictEqual(talk.payloads("run.tool.result")[0]?.output, "a\nb")
  })
})

describe("Acp call that is only known from its permission request", () => {
  const request = permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "touch a" } })
  const statusAfter = (decision: "allow" | "deny" | undefined) => {
    const talk = new Talk(plain).open()
    talk.send(request)
    if (decision !== undefined) talk.write(talk.protocol.answer("7", { decision, scope: "once" }))
    talk.text("Done.")
    endTurn(talk)
    return talk.payloads("run.tool.result")[0]
  }

  it("is completed if it was allowed and the turn is completed", () => {
    assert.deepStrictEqual(statusAfter("allow"), { callId: "c", status: "completed", tool: "execute" })
    assert.strictEqual(statusAfter("deny")?.status, "denied")
    assert.strictEqual(statusAfter(undefined)?.status, "failed")
  })
})
