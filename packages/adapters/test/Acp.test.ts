import type { Decision } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/run/Run"
import type { InputResponse } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { makeAcp } from "../src/Acp.ts"
import type { AcpAgent } from "../src/acp/AcpAgent.ts"
import { acpAgents } from "../src/acp/AcpAgents.ts"
import { messagesOf, modes, options, permissionRequest, plain, start, Talk, type Message } from "./AcpTalk.ts"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { load, recordedStdin, recordings } from "@corral/testing/recordings/Fixtures"

/** The recorded client answered as its person did, and cancelled where the recording is of a cancel. */
const decisionOf = (
  recorded: Message | undefined,
  requests: ReadonlyArray<{ optionId: string; kind: string }>
) => {
  const { optionId } = Object(recorded?.result?.["outcome"])
  const kind = requests.find((option) => option.optionId === optionId)?.kind ?? ""
  const decision: Decision = kind.startsWith("allow")
    ? "allow"
    : kind.startsWith("reject")
      ? "deny"
      : "cancel"
  return decision
}

/** The response of a person to which the recorded client's result belongs. */
const responseOf = (request: RequestedInput, result: Message["result"]): InputResponse => {
  const { action, answers, content, outcome } = Object(result)
  const declined: InputResponse = { _tag: "Unanswered", reason: "The user did not answer." }
  if (action !== undefined)
    return action === "accept" ? { _tag: "Answered", answers: content ?? {} } : declined
  if (request.kind === "plan") return { _tag: "PlanApproved", endsRun: true }
  if (outcome === "accepted") {
    const byText = new Map<string, ReadonlyArray<string>>(Object.entries(answers))
    const chosen = request.questions?.map(({ id, text }) => [id, byText.get(text)?.[0] ?? ""] as const) ?? []
    return { _tag: "Answered", answers: Object.fromEntries(chosen) }
  }
  if (answers !== undefined) return { _tag: "Answered", answers }
  return outcome?.outcome === "selected"
    ? { _tag: "Answered", answers: { choice: outcome.optionId } }
    : declined
}

const { goose, ...recorded } = acpAgents
const all = Object.values(recorded)

for (const agent of all) {
  describe(`${agent.id}, told what the recorded client was told`, () => {
    const real = recordings(agent.id).filter(({ name }) => !name.startsWith("written-"))
    for (const { name, start, stdout, inputs = [], exit } of real) {
      const stdin = recordedStdin(agent.id, name)
      assert.isDefined(stdin, name)
      it(`${name}: says what it said`, () => {
        const recorded = messagesOf(stdin ?? "")
        // The recorded clients left the project's settings on.
        const talk = new Talk(agent, { ...start, projectSettings: "enabled" })
        for (const text of inputs) talk.write(talk.protocol.input(text))
        const cancelAt = recorded.findIndex(({ method }) => method === "session/cancel")
        const lines = messagesOf(Buffer.from(stdout).toString("utf8"))
        for (const line of lines) {
          // A cancelled prompt is answered after the cancel.
          if (cancelAt !== -1 && line.result?.["stopReason"] === "cancelled")
            talk.write(talk.protocol.cancel())
          for (const output of talk.send(line)) {
            if (output._tag !== "Approval" && output._tag !== "InputRequested") continue
            const answered = recorded.find(({ id, result }) => id === line.id && result !== undefined)
            if (answered === undefined) continue
            if (output._tag === "InputRequested") {
              talk.write(talk.protocol.respond?.(output.key, responseOf(output.request, answered.result)))
              continue
            }
            const requests = line.params?.["options"] as Array<{ optionId: string; kind: string }>
            const decision = decisionOf(answered, requests)
            if (decision !== "cancel")
              talk.write(talk.protocol.answer(output.key, { decision, scope: "always" }))
          }
        }
        talk.end(exit.code, exit.signal)
        assert.deepStrictEqual([...invariantFindings(talk.outputs), ...deltasJoin(talk.outputs)], [])

        const isFile = ({ id }: Message) =>
          lines.some((line) => line.id === id && line.method?.startsWith("fs/") === true)
        const meaningOf = (messages: ReadonlyArray<Message>) =>
          messages
            .filter((message) => message.method !== "_corral/barrier" && message.method !== "initialize")
            .filter((message) => message.method !== undefined || !isFile(message))
            // What is allowed is allowed once: the Edge remembers.
            .map((message) =>
              JSON.parse(
                JSON.stringify(message)
                  .replace("proceed_always", "proceed_once")
                  .replace('"always"', '"once"')
              )
            )
            // In a cancel, the answers of waiting permissions are the run's, not the adapter's.
            .filter((message) => cancelAt === -1 || message.result === undefined)
        assert.deepStrictEqual(meaningOf(talk.written), meaningOf(recorded))
      })
    }
  })
}

describe("a denied call", () => {
  it("is closed as denied, by the agent or for it", () => {
    for (const agent of all) {
      const recording = load(agent.id, "approval-denied")
      const talk = new Talk(agent, recording.start)
      for (const line of messagesOf(Buffer.from(recording.stdout).toString("utf8"))) {
        for (const output of talk.send(line))
          if (output._tag === "Approval")
            talk.write(talk.protocol.answer(output.key, { decision: "deny", scope: "once" }))
      }
      talk.end()
      const results = talk.outputs.flatMap((output) =>
        output._tag === "Event" && output.event.type === "run.tool.result"
          ? [output.event.payload.status]
          : []
      )
      assert.deepStrictEqual(results, ["denied"], agent.id)
      const closed = talk.shape.indexOf("run.tool.result")
      const spoke = talk.shape.lastIndexOf("run.message.delta")
      // The others stop there.
      if (["claude-agent-acp", "gemini-acp", "kimi-acp"].includes(agent.id))
        assert.isBelow(closed, spoke, `${agent.id}: before the agent continues`)
    }
  })

  it("that ends the turn has its own reason", () => {
    const talk = new Talk(acpAgents.codex).open(modes("read-only", "read-only"))
    talk.send(permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "touch a" } }))
    talk.write(talk.protocol.answer("7", { decision: "deny", scope: "once" }))
    talk.send({ id: 2, result: { stopReason: "cancelled" } })
    talk.error(-32601, "Method not found")
    assert.deepStrictEqual(talk.outcome, {
      _tag: "Cancelled",
      reason: "it stopped because a permission was denied"
    })
  })

  describe("of an agent that completes its turn", () => {
    const denied = (agent: AcpAgent, session?: object) => {
      const talk = new Talk(agent).open(session)
      talk.send(permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "touch a" } }))
      talk.write(talk.protocol.answer("7", { decision: "deny", scope: "once" }))
      talk.update("tool_call_update", { toolCallId: "c", status: "failed" })
      return talk
    }
    const end = (talk: Talk) => {
      talk.send({ id: 2, result: { stopReason: "end_turn" } })
      talk.error(-32601, "Method not found")
      return talk.outcome
    }
    const chunk = (text: string) => ({ content: { type: "text", text } })

    for (const agent of all) {
      it(`${agent.id} ends the recorded run as the recording continues after the denial`, () => {
        const recording = load(agent.id, "approval-denied")
        const talk = new Talk(agent, recording.start)
        for (const line of messagesOf(Buffer.from(recording.stdout).toString("utf8")))
          for (const output of talk.send(line))
            if (output._tag === "Approval")
              talk.write(talk.protocol.answer(output.key, { decision: "deny", scope: "once" }))
        talk.end()
        const speaks = ["claude-agent-acp", "gemini-acp", "kimi-acp"].includes(agent.id)
        assert.strictEqual(talk.outcome?._tag, speaks ? "Completed" : "Cancelled")
      })
    }

    it("stopped at the denial where nothing follows", () => {
      assert.deepStrictEqual(end(denied(plain)), {
        _tag: "Cancelled",
        reason: "it stopped because a permission was denied"
      })
    })

    it("continued where it speaks, thinks or calls a tool", () => {
      const continuations = [
        (talk: Talk) => talk.update("agent_message_chunk", chunk("I leave it.")),
        (talk: Talk) => talk.update("agent_thought_chunk", chunk("Then something else.")),
        (talk: Talk) => talk.update("tool_call", { toolCallId: "d", kind: "read", title: "Read a" })
      ]
      for (const continues of continuations) {
        const talk = denied(plain)
        continues(talk)
        assert.strictEqual(end(talk)?._tag, "Completed")
      }
    })

    it("continues with a message that was sent meanwhile", () => {
      const talk = denied(plain)
      talk.protocol.input("Do something else.")
      assert.isUndefined(end(talk))
      assert.deepInclude(talk.last, { method: "session/prompt" })
    })
  })
})

describe("a call that our cancel stopped", () => {
  const resultsOf = (talk: Talk) =>
    talk.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.tool.result" ? [output.event.payload.status] : []
    )
  const opened = [
    [acpAgents.gemini, modes("default", "default", "plan"), "Command cancelled by user."],
    [
      acpAgents.opencode,
      modes("build", "build", "plan"),
      "(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
    ]
  ] as const
  const over = (talk: Talk, text: string) => {
    const call = { toolCallId: "c", kind: "execute", title: "sleep 300" }
    talk.update("tool_call", { ...call, status: "in_progress" })
    const content = [{ type: "content", content: { type: "text", text } }]
    return () => talk.update("tool_call_update", { ...call, status: "completed", content })
  }

  it("is cancelled, though the agent tells it as completed", () => {
    for (const [agent, session, words] of opened) {
      const talk = new Talk(agent).open(session)
      const complete = over(talk, words)
      talk.protocol.cancel()
      complete()
      assert.deepStrictEqual(resultsOf(talk), ["cancelled"], agent.id)
    }
  })

  it("is completed where nothing was cancelled, or it says something else", () => {
    for (const [agent, session, words] of opened) {
      const printed = new Talk(agent).open(session)
      over(printed, words)()
      assert.deepStrictEqual(resultsOf(printed), ["completed"], agent.id)
      const quick = new Talk(agent).open(session)
      const complete = over(quick, "done")
      quick.protocol.cancel()
      complete()
      assert.deepStrictEqual(resultsOf(quick), ["completed"], agent.id)
    }
  })
})

describe("a wrong key", () => {
  it("is distinguished from any other bad request where the service refuses both with 400", () => {
    const google = (message: string) =>
      JSON.stringify({ error: { code: 400, message, status: "INVALID_ARGUMENT" } })
    for (const [message, reason] of [
      ["API key not valid. Please pass a valid API key.", "bad_credentials"],
      ["Function calling is not enabled for this model.", "request_refused"]
    ] as const) {
      const talk = new Talk(acpAgents.gemini).open(modes("default", "default", "plan"))
      talk.error(400, google(message))
      talk.error(-32601, "Method not found")
      assert.strictEqual(talk.reason, reason)
    }
  })
})

describe("Acp handshake", () => {
  it("says that it has no file system and no terminals, and refuses requests for them", () => {
    const talk = new Talk(plain)
    assert.deepInclude(talk.last?.params, {
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        session: { notices: {}, compaction: {} },
        elicitation: { form: {}, url: {} }
      }
    })
    talk.open()
    for (const method of ["fs/read_text_file", "fs/write_text_file", "terminal/create"]) {
      talk.send({ id: method, method, params: {} })
      assert.deepInclude(talk.last, { id: method })
      assert.strictEqual(talk.last?.error?.code, -32601)
    }
    assert.deepStrictEqual(
      talk.outputs.flatMap((output) => (output._tag === "Unknown" ? [output.what] : [])),
      [],
      "what it said that it has not is no news"
    )
  })

  it("does not prompt an agent with another version, or without a mode that asks", () => {
    const version = new Talk(plain)
    version.result({ protocolVersion: 2 })
    assert.deepStrictEqual([version.reason, version.methods.length], ["protocol_version", 1])
    for (const session of [{}, modes("yolo", "yolo")]) {
      const talk = new Talk(acpAgents.gemini).open(session)
      assert.deepStrictEqual([talk.reason, talk.methods.includes("session/prompt")], ["mode_missing", false])
    }
    const refused = new Talk(acpAgents.gemini, { mode: "plan" }).open(modes("default", "default", "plan"))
    refused.error(-32603, "No such mode")
    assert.deepStrictEqual([refused.reason, refused.methods.at(-1)], ["mode_refused", "session/set_mode"])
  })

  it("puts an agent into the mode of the run, and sets what is not known to be so", () => {
    const inMode = (agent: AcpAgent, mode: RunMode, session: object) =>
      new Talk(agent, { mode }).open(session).written.slice(2)
    const gemini = modes("default", "default", "yolo", "plan")
    for (const mode of ["ask", "auto_edit", "full_access"] as const)
      assert.strictEqual(inMode(acpAgents.gemini, mode, gemini)[0]?.method, "session/prompt")
    for (const mode of ["read_only", "plan"] as const)
      assert.deepStrictEqual(inMode(acpAgents.gemini, mode, gemini)[0]?.params, {
        sessionId: "s",
        modeId: "plan"
      })
    assert.deepStrictEqual(inMode(acpAgents.kimi, "ask", modes("default", "default", "plan"))[0]?.params, {
      sessionId: "s",
      modeId: "default"
    })
    const configOptions = [
      {
        id: "mode",
        currentValue: "build",
        options: [{ value: "build" }, { name: "More", options: [{ value: "plan" }] }]
      }
    ]
    assert.deepInclude(inMode(acpAgents.opencode, "plan", { configOptions })[0], {
      method: "session/set_config_option",
      params: { sessionId: "s", configId: "mode", value: "plan" }
    })
    assert.deepStrictEqual(
      inMode(acpAgents.goose, "read_only", modes("auto", "auto", "approve"))[0]?.params,
      {
        sessionId: "s",
        modeId: "approve"
      }
    )
  })

  it("chooses the model in the form that the session has, or fails", () => {
    const model = "big"
    const models = { currentModelId: "small", availableModels: [{ modelId: "small" }, { modelId: "big" }] }
    assert.deepInclude(new Talk(plain, { model }).open({ models }).last, {
      method: "session/set_model",
      params: { sessionId: "s", modelId: "big" }
    })
    const configOptions = [{ id: "m", category: "model", currentValue: "small", options: [{ value: "big" }] }]
    const talk = new Talk(plain, { model }).open({ configOptions })
    assert.deepStrictEqual(talk.last?.params, { sessionId: "s", configId: "m", value: "big" })
    talk.error(-32602, "No such model")
    assert.strictEqual(talk.reason, "model_refused")
    assert.strictEqual(new Talk(plain, { model }).open().reason, "model_refused")
    assert.strictEqual(new Talk(plain, { model: "small" }).open({ models }).last?.method, "session/prompt")
  })

  it("continues an earlier conversation with the agent's capabilities, and never begins another instead", () => {
    const resumed = (agentCapabilities: object) => {
      const talk = new Talk(plain, { resumeSessionId: "earlier" })
      talk.result({ protocolVersion: 1, agentCapabilities })
      return talk
    }
    assert.strictEqual(
      resumed({ loadSession: true, sessionCapabilities: { resume: {} } }).last?.method,
      "session/resume"
    )
    assert.strictEqual(resumed({}).reason, "cannot_resume")
    const unknown = resumed({ loadSession: true })
    unknown.error(-32603, "Session not found: earlier")
    assert.deepStrictEqual(
      [unknown.reason, unknown.methods.includes("session/new")],
      ["unknown_session", false]
    )

    const talk = resumed({ loadSession: true })
    assert.deepInclude(talk.last, {
      method: "session/load",
      params: { sessionId: "earlier", cwd: "/workspace", mcpServers: [] }
    })
    talk.text("An old answer.")
    talk.result({})
    talk.text("Told late.")
    talk.update("tool_call", { toolCallId: "old", kind: "edit", status: "completed" })
    assert.strictEqual(talk.last?.method, "_corral/barrier")
    talk.error(-32601, "Method not found")
    assert.deepInclude(talk.last, { method: "session/prompt" })
    assert.deepStrictEqual(talk.shape, ["run.started"])
    talk.text("New.")
    talk.update("usage_update", { cost: { amount: 3, currency: "USD" } })
    talk.result({ stopReason: "end_turn", usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 } })
    talk.end()
    // Its cost counts the earlier runs.
    assert.deepStrictEqual(talk.outcome, {
      _tag: "Completed",
      text: "New.",
      usage: { inputTokens: 5, outputTokens: 1 }
    })
  })
})

describe("Acp turns", () => {
  it("reads what comes behind the answer before it tells the outcome", () => {
    const talk = new Talk(plain).open()
    talk.text("Done.")
    talk.result({ stopReason: "end_turn" })
    assert.isUndefined(talk.outcome)
    assert.strictEqual(talk.last?.method, "_corral/barrier")
    talk.update("usage_update", { used: 9, cost: { amount: 0.5, currency: "USD" } })
    talk.text(" At last.")
    talk.error(-32601, "Method not found")
    const text = "Done. At last."
    assert.deepStrictEqual(talk.outcome, { _tag: "Completed", text, usage: { costUsd: 0.5 } })
    assert.deepStrictEqual(talk.shape.slice(-4), [
      "Usage",
      "run.message.delta",
      "run.message.completed",
      "Outcome"
    ])
    assert.deepStrictEqual(deltasJoin(talk.outputs), [])
    assert.deepStrictEqual(invariantFindings(talk.outputs), [])
  })

  it("takes the answer's word where the agent is gone before it is asked again", () => {
    const talk = new Talk(plain).open()
    talk.text("Done.")
    talk.result({ stopReason: "end_turn" })
    talk.end(null, "SIGTERM")
    assert.deepStrictEqual(talk.outcome, { _tag: "Completed", text: "Done." })
    const silent = new Talk(plain).open()
    silent.end(0)
    assert.strictEqual(silent.reason, "no_result")
  })

  it("begins the next turn with a message that waited, in the same conversation", () => {
    const talk = new Talk(plain).open()
    assert.strictEqual(talk.protocol.input("Second."), "")
    talk.text("First.")
    talk.result({ stopReason: "end_turn" })
    talk.error(-32601, "Method not found")
    assert.deepStrictEqual(talk.last?.params, { sessionId: "s", prompt: [{ type: "text", text: "Second." }] })
    talk.text("Second answer.")
    talk.result({ stopReason: "end_turn" })
    assert.strictEqual(talk.last?.method, "_corral/barrier")
    assert.strictEqual(talk.protocol.input("Third."), "")
    talk.error(-32601, "Method not found")
    assert.strictEqual(talk.last?.method, "session/prompt")
    talk.result({ stopReason: "end_turn" })
    talk.error(-32601, "Method not found")
    assert.deepStrictEqual(talk.outcome, { _tag: "Completed" })
    talk.write(talk.protocol.input("Fourth."))
    assert.deepInclude(talk.last, { method: "session/prompt" })
    talk.result({ stopReason: "end_turn" })
    talk.error(-32601, "Method not found")
    assert.strictEqual(talk.tagged("Outcome").length, 2)
    talk.end()
    assert.isUndefined(talk.protocol.input("Too late."))
  })

  it("cancels by notification, answers pending requests, and ends cancelled regardless of the agent's output", () => {
    assert.isUndefined(new Talk(plain).protocol.cancel())
    const early = new Talk(plain)
    early.protocol.cancel()
    early.open()
    assert.deepStrictEqual([early.outcome?._tag, early.methods.length], ["Cancelled", 1])

    for (const answer of [
      { result: { stopReason: "cancelled" } },
      { error: { code: -32603, message: "Aborted" } }
    ]) {
      const talk = new Talk(plain).open()
      talk.protocol.input("Never said.")
      talk.send(permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "touch a" } }))
      talk.write(talk.protocol.cancel())
      assert.deepInclude(talk.last, { method: "session/cancel", params: { sessionId: "s" } })
      talk.write(talk.protocol.answer("7", { decision: "cancel", scope: "once" }))
      assert.deepStrictEqual(talk.last?.result, { outcome: { outcome: "cancelled" } })
      talk.send({ id: 2, ...answer })
      talk.error(-32601, "Method not found")
      assert.deepStrictEqual(talk.outcome, { _tag: "Cancelled", reason: "interrupted" })
      assert.deepStrictEqual(invariantFindings(talk.outputs), [])
    }
  })

  it("tells the reasons to stop apart, and takes none for success that it does not know", () => {
    const reasonOf = (result: object) => {
      const talk = new Talk(plain).open()
      talk.text("So far.")
      talk.result(result)
      talk.end()
      return talk.reason
    }
    assert.strictEqual(reasonOf({ stopReason: "max_tokens" }), "max_tokens")
    assert.strictEqual(reasonOf({ stopReason: "max_turn_requests" }), "max_turns")
    assert.strictEqual(reasonOf({ stopReason: "refusal" }), "refused")
    assert.strictEqual(reasonOf({ stopReason: "something_new" }), "protocol_broken")
    assert.strictEqual(reasonOf({}), "protocol_broken")
  })

  it("tells failures apart by code, by data and by words", () => {
    const reasonOf = (code: number, message: string) => {
      const talk = new Talk(plain).open()
      talk.error(code, message)
      talk.end()
      return talk.reason
    }
    assert.strictEqual(reasonOf(429, "Rate limit exceeded. Try again later."), "rate_limited")
    assert.strictEqual(reasonOf(529, "x"), "overloaded")
    assert.strictEqual(reasonOf(503, "x"), "server_error")
    assert.strictEqual(reasonOf(-32000, "Authentication required"), "bad_credentials")
    assert.strictEqual(reasonOf(-32603, "Internal error: API Error: 429 slow down"), "rate_limited")
    assert.strictEqual(reasonOf(-32603, "Overloaded"), "overloaded")
    assert.strictEqual(reasonOf(-32603, "connect ECONNREFUSED 127.0.0.1:1"), "unreachable")
    assert.strictEqual(reasonOf(-32603, "Not logged in"), "not_signed_in")
    assert.strictEqual(reasonOf(-32603, "401 Incorrect API key provided"), "bad_credentials")
    assert.strictEqual(reasonOf(-32603, "--x cannot be used with root"), "refuses_root")
    assert.strictEqual(reasonOf(-32603, "It broke."), "agent_failed")
  })

  it("tells words of the program apart from those of the model, and failures in them", () => {
    const talk = new Talk(acpAgents.copilot).open(modes("x#agent", "x#agent", "x#plan"))
    talk.text("I will look. ")
    talk.text("Info: Request failed due to a transient API error. Retrying...")
    talk.text("Error: Authentication failed with provider (HTTP 401).\n  Check your key.")
    talk.result({ stopReason: "end_turn" })
    talk.end()
    const roles = talk.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.message.completed"
        ? [output.event.payload.role]
        : []
    )
    assert.deepStrictEqual([roles, talk.reason], [["assistant", "system", "assistant"], "bad_credentials"])

    const streamed = new Talk(acpAgents.copilot).open(modes("x#agent", "x#agent"))
    streamed.text("Error: 400 is ")
    streamed.text("what you asked about.")
    streamed.result({ stopReason: "end_turn" })
    streamed.end()
    assert.deepInclude(streamed.outcome, { _tag: "Completed", text: "Error: 400 is what you asked about." })
  })

  it("counts reports that it has no name for, and is fatal about none", () => {
    const talk = new Talk(plain).open()
    talk.update("hologram", { frames: [] })
    talk.update("agent_message_chunk", { content: { type: "image", data: "" } })
    talk.update("current_mode_update", { currentModeId: "yolo" })
    talk.send({ method: "vendor/notice" }, { id: 99, result: {} }, {})
    assert.deepStrictEqual(
      talk.outputs.flatMap((output) => (output._tag === "Unknown" ? [output.what] : [])),
      ["session/update/hologram", "agent_message_chunk/image", "vendor/notice", "response", "untyped"]
    )
    assert.deepStrictEqual(talk.payloads("run.notice"), [
      { kind: "warning", text: "Plain changed its mode to yolo." }
    ])
  })
})

describe("A recording that is cut", () => {
  it("before its last answer is whole is never a success", () => {
    for (const agent of Object.values(acpAgents)) {
      for (const { exit, expected, inputs = [], name, start, stdout } of recordings(agent.id)) {
        if (expected?.outcome !== "Completed") continue
        const received = Buffer.from(stdout).lastIndexOf('"stopReason"')
        const whole = stdout.indexOf(10, received)
        for (let at = 0; at < whole; at += 1 + Math.floor(whole / 40)) {
          const protocol = makeAcp(agent).protocol(start)
          for (const text of inputs) protocol.input(text)
          const outputs = [
            ...protocol.step(stdout.subarray(0, at)),
            ...protocol.end({ ...exit, code: 0, signal: null })
          ]
          const last = outputs.at(-1)
          assert(last?._tag === "Outcome")
          assert.strictEqual(last.outcome._tag, "Failed", `${agent.id} ${name} cut at ${at}`)
        }
      }
    }
  })
})

describe("Acp permissions", () => {
  const requestOf = (agent: AcpAgent, toolCall: object, more?: object) => {
    const session = agent.modes === undefined ? {} : modes(agent.modes.ask ?? "", agent.modes.ask ?? "")
    const talk = new Talk(agent).open(session)
    talk.send(permissionRequest({ toolCallId: "c", ...toolCall }, more))
    const [request] = talk.requests
    assert(request !== undefined)
    return request
  }
  const everything = ["once", "run", "session", "always"] as const

  it("names the whole command and its folder", () => {
    const command = "npm test\n&& rm -rf build"
    const request = requestOf(plain, {
      kind: "execute",
      title: "Run the tests",
      rawInput: { command, cwd: "/workspace/web", description: "Tests" }
    })
    assert.deepInclude(request, { action: "shell", command, cwd: "web", reason: "Tests", editable: false })
    assert.deepStrictEqual(request.scopes, everything)
  })

  it("takes no title for a command, but where the title is all that the agent sends", () => {
    const toolCall = { kind: "execute", title: "touch a" }
    const unknown = requestOf(plain, toolCall)
    assert.isUndefined(unknown.command)
    assert.deepInclude(unknown, { action: "shell", risk: "medium" })

    const shown = (text: string) => [{ type: "content", content: { type: "text", text } }]
    const inFolder = (text: string) => requestOf(acpAgents.gemini, { ...toolCall, content: shown(text) })
    const here = inFolder("[current working directory /workspace] (Make a file)")
    assert.deepInclude(here, { command: "touch a", cwd: "." })
    assert.deepStrictEqual(here.scopes, everything)
    // Where it runs only the model's own words say: asked for each time.
    for (const text of ["[in sub] [current working directory /workspace]", "[in ../outside]", ""]) {
      const elsewhere = inFolder(text)
      assert.isUndefined(elsewhere.cwd)
      assert.deepStrictEqual(elsewhere.scopes, ["once"])
    }
  })

  it("is for once where the input says more than the command, or the agent offers no more", () => {
    const rawInput = { command: "make", dangerouslyDisableSandbox: true }
    assert.deepStrictEqual(requestOf(plain, { kind: "execute", rawInput }).scopes, ["once"])
    const once = { options: options.slice(1) }
    assert.deepStrictEqual(
      requestOf(plain, { kind: "execute", rawInput: { command: "make" } }, once).scopes,
      ["once"]
    )
  })

  it("says which files an edit changes, and that it is risky where only an editor's hint says so", () => {
    const diff = { type: "diff", path: "/workspace/a.txt", oldText: "one\n", newText: "two\n" }
    const request = requestOf(plain, { kind: "edit", content: [diff] })
    assert.deepInclude(request, {
      action: "write",
      risk: "low",
      files: ["a.txt"],
      patch: "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-one\n+two\n"
    })
    const more = requestOf(plain, {
      kind: "edit",
      content: [diff],
      locations: [{ path: "/workspace/b.txt" }]
    })
    assert.deepStrictEqual(more.files, ["a.txt", "b.txt"])
    // Under its name alone a file might be any.
    const named = requestOf(plain, {
      kind: "edit",
      content: [{ ...diff, path: "a.txt" }],
      rawInput: { file_path: "/etc/a.txt" }
    })
    assert.deepStrictEqual(named.files, ["/etc/a.txt"])
    const hint = requestOf(plain, { kind: "edit", locations: [{ path: "/workspace/b.txt" }] })
    assert.deepInclude(hint, { action: "write", risk: "high", files: ["b.txt"] })
    assert.deepStrictEqual(hint.scopes, ["once"])
    const outside = requestOf(plain, { kind: "edit", rawInput: { path: "/etc/hosts", content: "" } })
    assert.deepStrictEqual(outside.files, ["/etc/hosts"])
  })

  it("treats every tool that runs a command as a shell, and unknown tools too", () => {
    const edit = requestOf(plain, { kind: "edit", rawInput: { path: "a", command: "rm a" } })
    assert.deepInclude(edit, { action: "shell", command: "rm a" })
    assert.strictEqual(requestOf(plain, { title: "Teleport" }).action, "shell")
    const fetch = requestOf(plain, { kind: "fetch", rawInput: { url: "https://example.com/a" } })
    assert.deepInclude(fetch, { action: "network", url: "https://example.com/a" })
  })

  it("tells the agent neither to remember nor another input than its own", () => {
    const answer = (scope: "once" | "always", updatedInput?: Record<string, unknown>) => {
      const talk = new Talk(plain).open()
      talk.send(permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "a" } }))
      talk.write(talk.protocol.answer("7", { decision: "allow", scope, updatedInput }))
      return talk.last?.result
    }
    const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } })
    assert.deepStrictEqual([answer("once"), answer("always")], [selected("once"), selected("once")])
    assert.deepStrictEqual(answer("once", { command: "b" }), selected("no"))
  })

  it("refuses by itself what could only be granted for always", () => {
    const talk = new Talk(plain).open()
    talk.send(permissionRequest({ toolCallId: "c", kind: "execute" }, { options: [options[0], options[2]] }))
    assert.deepStrictEqual(talk.requests, [])
    assert.deepStrictEqual(talk.last?.result, { outcome: { outcome: "selected", optionId: "no" } })
    talk.send(permissionRequest({}, { options }))
    assert.deepStrictEqual(talk.requests, [], "it is about no call")
  })

  it("asks again under the same id once it is answered, and not while it waits", () => {
    const talk = new Talk(plain).open()
    const ask = permissionRequest({ toolCallId: "c", kind: "execute", rawInput: { command: "a" } })
    talk.send(ask, ask)
    assert.strictEqual(talk.requests.length, 1)
    talk.protocol.answer("7", { decision: "allow", scope: "once" })
    assert.isUndefined(talk.protocol.answer("7", { decision: "allow", scope: "once" }))
    talk.send(ask)
    assert.strictEqual(talk.requests.length, 2)
    talk.send({ method: "$/cancel_request", params: { requestId: 7 } })
    assert.deepStrictEqual(talk.outputs.at(-2), {
      _tag: "ApprovalWithdrawn",
      key: "7/1",
      reason: "the agent no longer waits for it"
    })
    assert.isUndefined(talk.protocol.answer("7/1", { decision: "allow", scope: "once" }))
    talk.end()
    assert.deepStrictEqual(invariantFindings(talk.outputs), [])
  })
})

describe("Acp tool calls", () => {
  it("are reported when their input is known, at the latest when the agent continues", () => {
    const talk = new Talk(plain).open()
    talk.update("tool_call", { toolCallId: "c", kind: "execute", title: "Terminal", rawInput: {} })
    assert.notInclude(talk.shape, "run.tool.call")
    talk.update("tool_call_update", { toolCallId: "c", rawInput: { command: "make" } })
    talk.update("usage_update", { used: 1 })
    const call = talk.outputs.at(-1)
    assert(call?._tag === "Event" && call.event.type === "run.tool.call")
    assert.deepInclude(call.event.payload, { label: "Run make", input: { command: "make" } })
    talk.update("tool_call_update", { toolCallId: "c", status: "failed", rawOutput: { exitCode: 2 } })
    const result = talk.outputs.at(-1)
    assert(result?._tag === "Event" && result.event.type === "run.tool.result")
    assert.deepInclude(result.event.payload, { status: "failed", exitCode: 2 })
    talk.update("tool_call_update", { toolCallId: "c", status: "completed" })
    assert.strictEqual(talk.outputs.at(-1), result)
  })

  it("take an input that is reported as text in pieces, when it is whole", () => {
    const talk = new Talk(acpAgents.kimi).open(modes("default", "default"))
    talk.result({})
    const content = (text: string) => ({ content: [{ type: "content", content: { type: "text", text } }] })
    const input = JSON.stringify({ command: "touch a", description: "Make a file" })
    talk.update("tool_call", {
      toolCallId: "c",
      title: "Bash",
      kind: "execute",
      status: "pending",
      ...content("")
    })
    for (const at of [12, input.length])
      talk.update("tool_call_update", {
        toolCallId: "c",
        status: "in_progress",
        ...content(input.slice(0, at))
      })
    talk.send(
      permissionRequest({
        toolCallId: "c",
        title: "Bash",
        ...content("Requesting approval to Running: touch a")
      })
    )
    assert.deepInclude(talk.requests[0], { command: "touch a", title: "Run touch a", cwd: "." })
    const calls = talk.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.tool.call" ? [output.event.payload.label] : []
    )
    assert.deepStrictEqual(calls, ["Run touch a"])
  })

  it("that fail or never end change no files", () => {
    const talk = new Talk(plain).open()
    const content = [{ type: "diff", path: "/workspace/a", oldText: null, newText: "x" }]
    talk.update("tool_call", { toolCallId: "c", kind: "edit", content, status: "in_progress" })
    talk.update("tool_call_update", { toolCallId: "c", status: "failed" })
    talk.update("tool_call", { toolCallId: "d", kind: "edit", content, status: "in_progress" })
    talk.result({ stopReason: "end_turn" })
    talk.end()
    assert.notInclude(talk.shape, "run.file.changed")
    assert.deepStrictEqual(invariantFindings(talk.outputs), [])
  })

  it("show what differs with the lines around it, counted from the file's first line", () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`)
    const before = `${lines.join("\n")}\n`
    const after = before.replace("line 10\n", "line ten\nand more\n")
    const talk = new Talk(plain).open()
    const content = [{ type: "diff", path: "/workspace/a", oldText: before, newText: after }]
    talk.update("tool_call", { toolCallId: "c", kind: "edit", content, status: "completed" })
    const patch = talk.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.patch.proposed"
        ? [output.event.payload.patch]
        : []
    )
    assert.deepStrictEqual(patch, [
      "--- a/a\n+++ b/a\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n+and more\n line 11\n line 12\n line 13\n"
    ])
  })
})

describe("Acp usage", () => {
  it("counts reported tokens once", () => {
    const usageOf = (more: object) => {
      const talk = new Talk(plain).open()
      const _meta = { usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 } }
      talk.text("Looking.")
      talk.text("", { _meta })
      talk.text("", { _meta })
      talk.result({ stopReason: "end_turn", ...more })
      talk.end()
      return talk.outcome?.usage
    }
    assert.deepStrictEqual(usageOf({}), { inputTokens: 20, outputTokens: 2 })
    // Cached tokens are part of the input, also for agents that count them beside it.
    const usage = { inputTokens: 3, outputTokens: 2, cachedReadTokens: 20, totalTokens: 25 }
    assert.deepStrictEqual(usageOf({ usage }), { inputTokens: 23, outputTokens: 2, cachedInputTokens: 20 })
    const within = { ...usage, inputTokens: 23 }
    assert.deepStrictEqual(usageOf({ usage: within }), {
      inputTokens: 23,
      outputTokens: 2,
      cachedInputTokens: 20
    })
  })
})

describe("Acp table", () => {
  it("says what is not tried", () => {
    assert.isTrue(recordings(goose.id).every(({ name }) => name.startsWith("written-")))
  })

  it("every agent asks, and none is started past its own questions", () => {
    for (const agent of Object.values(acpAgents)) {
      const adapter = makeAcp(agent)
      // Kimi writes files of a git repository without a question: it is held to no mode that asks.
      assert.strictEqual(adapter.capabilities.approvals, !["kimi-acp", "grok-acp"].includes(agent.id))
      assert.isFalse(adapter.capabilities.editInput)
      for (const mode of ["read_only", "plan", "ask", "auto_edit", "full_access"] as const) {
        const { args, env, file, stdin } = adapter.command({ ...start, mode })
        assert.deepStrictEqual([file, stdin], [agent.command, "pipe"])
        assert.notMatch([...args, ...Object.values(env ?? {})].join(" "), /yolo|bypass|dangerous|auto-?edit/i)
      }
    }
  })

  it("OpenCode asks for everything but reading, and is not offered more than reading in a plan", () => {
    const permissionOf = (mode: RunMode) => {
      const { env } = makeAcp(acpAgents.opencode).command({ ...start, mode })
      return JSON.parse(env?.["OPENCODE_PERMISSION"] ?? "null")
    }
    const lists = { todowrite: "allow", todoread: "allow", task: "deny" }
    const reading = { read: "allow", glob: "allow", grep: "allow", list: "allow", ...lists }
    assert.deepStrictEqual(permissionOf("full_access"), { "*": "ask", ...reading })
    assert.deepStrictEqual(permissionOf("read_only"), { "*": "deny", ...reading })
  })
})

describe("Reported capabilities of an agent", () => {
  const resumed = all.flatMap((agent) =>
    recordings(agent.id)
      .filter(({ name }) => name === "resume")
      .map((recording) => ({ agent, recording }))
  )
  it.each(resumed.map((one) => [one.agent.id, one] as const))(
    "%s resumes where its program did",
    (_id, { agent, recording }) => {
      const isResumed = recording.expected?.reason !== "unknown_session"
      assert.strictEqual(makeAcp(agent).capabilities.resume, isResumed)
    }
  )
})
