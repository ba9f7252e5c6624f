import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { claudeCode } from "../src/ClaudeCode.ts"
import { makeOpenCode } from "../src/OpenCode.ts"
import { qwen } from "../src/Qwen.ts"
import { MAX_LINE_BYTES } from "../src/text/Lines.ts"
import { options, permissionRequest, plain, Talk } from "./AcpTalk.ts"

const long = "x".repeat(MAX_LINE_BYTES)
const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: "/workspace" }

const send = (protocol: Protocol, value: object): ReadonlyArray<AdapterOutput> =>
  protocol.step(Buffer.from(`${JSON.stringify(value)}\n`))

const eventsOf = (outputs: ReadonlyArray<AdapterOutput>) =>
  outputs.flatMap((output) => (output._tag === "Event" ? [output.event] : []))

/** Outputs of a line over the limit, after its report. */
const lost = (protocol: Protocol, value: object): ReadonlyArray<AdapterOutput> => {
  const outputs = send(protocol, value)
  assert.deepStrictEqual(
    eventsOf(outputs.slice(0, 2)).map(({ type }) => type),
    ["schema.validation_failed", "run.notice"]
  )
  return outputs.slice(2)
}

const responseOf = (outputs: ReadonlyArray<AdapterOutput>): unknown => {
  const [reply] = outputs
  assert(reply?._tag === "Reply")
  return Object(JSON.parse(reply.text)).response
}

/** What both programs print in the same form. */
const toolUse = (name: string, input: object) => ({
  type: "assistant",
  message: { id: "m", role: "assistant", content: [{ type: "tool_use", id: "call", name, input }] }
})
const toolResult = (content: unknown) => ({
  type: "user",
  message: { role: "user", content: [{ tool_use_id: "call", type: "tool_result", content }] }
})
const request = (subtype: string, more: object) => ({
  type: "control_request",
  request_id: "r",
  request: { subtype, ...more }
})

for (const adapter of [claudeCode, qwen]) {
  const opened = (): Protocol => {
    const protocol = adapter.protocol(start)
    send(protocol, { type: "system", subtype: "init", session_id: "s", cwd: "/workspace" })
    return protocol
  }

  describe(`lines of ${adapter.id} over the limit`, () => {
    it("with a request are declined without a choice", () => {
      for (const tool of ["Write", "AskUserQuestion", "ExitPlanMode", "ask_user_question"]) {
        const outputs = lost(opened(), request("can_use_tool", { tool_name: tool, input: { text: long } }))
        const { response, ...envelope } = Object(responseOf(outputs))
        assert.deepStrictEqual(envelope, { subtype: "success", request_id: "r" })
        assert.deepStrictEqual(response, {
          behavior: "deny",
          message: "The request is too long to be read, so no person saw it. Make it shorter."
        })
      }
      assert.deepInclude(responseOf(lost(opened(), request("hook_callback", { input: long }))), {
        subtype: "error",
        request_id: "r"
      })
    })

    it("with the result of a call close it", () => {
      const protocol = opened()
      send(protocol, toolUse("Read", { file_path: "/workspace/big.png" }))
      const [result] = eventsOf(lost(protocol, toolResult(long)))
      assert.deepStrictEqual(result?.payload, {
        callId: "call",
        tool: "Read",
        status: "completed",
        output: "The result was too long to be read."
      })
    })

    it("with a call open it with what they name", () => {
      const protocol = opened()
      const outputs = lost(protocol, toolUse("Write", { file_path: "/workspace/big.txt", content: long }))
      const [call] = eventsOf(outputs)
      assert.deepInclude(call?.payload, { callId: "call", tool: "Write", status: "started" })
      const closed = eventsOf(send(protocol, toolResult("done")))
      assert.strictEqual(closed.at(-1)?.type, "run.tool.result")
    })

    it("with the end of a turn end it without its text", () => {
      const ended = { subtype: "success", is_error: false, num_turns: 2, result: long, type: "result" }
      const outcome = lost(opened(), ended).at(-1)
      assert(outcome?._tag === "Outcome")
      assert.strictEqual(outcome.outcome._tag, "Completed")
      assert.notProperty(outcome.outcome, "text")
      const failed = lost(opened(), { ...ended, subtype: "error_during_execution", is_error: true }).at(-1)
      assert(failed?._tag === "Outcome")
      assert.strictEqual(failed.outcome._tag, "Failed")
    })
  })
}

describe("lines of claude-code over the limit", () => {
  it("with a form of a server are declined", () => {
    const protocol = claudeCode.protocol(start)
    const outputs = send(protocol, request("elicitation", { message: long }))
    assert.deepInclude(responseOf(outputs.filter(({ _tag }) => _tag === "Reply")), {
      response: { action: "decline" }
    })
  })
})

describe("lines of an ACP agent over the limit", () => {
  const tooLong = (talk: Talk, message: object): ReadonlyArray<AdapterOutput> => {
    const outputs = talk.send(message)
    assert.strictEqual(eventsOf(outputs)[0]?.type, "schema.validation_failed")
    return outputs
  }

  it("with a permission request are declined", () => {
    const talk = new Talk(plain).open()
    tooLong(talk, permissionRequest({ toolCallId: "c", title: "Write", rawInput: { content: long } }))
    assert.deepInclude(talk.last, { id: 7, result: { outcome: { outcome: "cancelled" } } })
    assert.deepStrictEqual(talk.requests, [])
    talk.update("tool_call_update", { toolCallId: "c", status: "failed" })
    assert.deepInclude(talk.payloads("run.tool.result")[0], { callId: "c", status: "denied" })
  })

  it("with the options first are rejected once", () => {
    const talk = new Talk(plain).open()
    const params = { sessionId: "s", options, toolCall: { toolCallId: "c", rawInput: { content: long } } }
    tooLong(talk, { id: 7, method: "session/request_permission", params })
    assert.deepInclude(talk.last, { id: 7, result: { outcome: { outcome: "selected", optionId: "no" } } })
  })

  it("with a form or another request are declined", () => {
    const talk = new Talk(plain).open()
    tooLong(talk, { id: 5, method: "elicitation/create", params: { sessionId: "s", message: long } })
    assert.deepInclude(talk.last, { id: 5, result: { action: "decline" } })
    tooLong(talk, { id: 6, method: "_x.ai/ask_user_question", params: { questions: [{ question: long }] } })
    assert.strictEqual(talk.last?.error?.code, -32_601)
    assert.deepStrictEqual(talk.tagged("InputRequested"), [])
  })

  it("with the result of a call close it", () => {
    const talk = new Talk(plain).open()
    talk.update("tool_call", { toolCallId: "c", title: "Read big.txt", kind: "read", status: "in_progress" })
    const content = [{ type: "content", content: { type: "text", text: long } }]
    tooLong(talk, {
      method: "session/update",
      params: {
        sessionId: "s",
        update: { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", content }
      }
    })
    assert.deepInclude(talk.payloads("run.tool.result")[0], {
      callId: "c",
      status: "completed",
      output: "The result was too long to be read."
    })
  })

  it("with the response to the prompt end the turn", () => {
    const talk = new Talk(plain).open()
    const prompt = talk.written.findLast(({ method }) => method === "session/prompt")
    tooLong(talk, { id: prompt?.id, result: { stopReason: "end_turn", _meta: { trace: long } } })
    talk.error(-32_601, "unknown method")
    assert.strictEqual(talk.outcome?._tag, "Completed")
  })
})

describe("lines of opencode over the limit", () => {
  const part = (state: object) => ({
    type: "message.part.updated",
    properties: {
      sessionID: "ses_1",
      part: { type: "tool", tool: "bash", callID: "call", state, id: "prt_1", messageID: "msg_1" }
    }
  })
  const running = part({ status: "running", input: { command: "cat big.txt" } })
  const opened = (): Protocol => {
    const protocol = makeOpenCode({ node: "/node", bridge: "/bridge.mjs" }).protocol(start)
    const session = { id: "session", status: 200, body: { id: "ses_1", version: "1.18.33" } }
    send(protocol, { type: "bridge.response", properties: session })
    send(protocol, {
      type: "session.status",
      properties: { sessionID: "ses_1", status: { type: "busy" } }
    })
    send(protocol, running)
    return protocol
  }
  const requestOf = (outputs: ReadonlyArray<AdapterOutput>): unknown => {
    const [reply] = outputs
    return reply?._tag === "Reply" ? JSON.parse(reply.text) : undefined
  }

  it("with a permission or a question are rejected", () => {
    const properties = { id: "per_1", sessionID: "ses_1", permission: "edit", metadata: { diff: long } }
    assert.deepInclude(requestOf(lost(opened(), { type: "permission.asked", properties })), {
      path: "/permission/per_1/reply",
      body: {
        reply: "reject",
        message: "The request is too long to be read, so no person saw it. Make it shorter."
      }
    })
    const question = { id: "que_1", sessionID: "ses_1", questions: [{ question: long }] }
    assert.deepInclude(requestOf(lost(opened(), { type: "question.asked", properties: question })), {
      path: "/question/que_1/reject"
    })
  })

  it("with the result of a call close it", () => {
    const protocol = opened()
    const completed = { status: "completed", input: { command: "cat big.txt" }, output: long }
    const outputs = lost(protocol, part(completed))
    assert.deepInclude(eventsOf(outputs)[0]?.payload, {
      callId: "prt_1",
      status: "completed",
      output: "The result was too long to be read."
    })
    assert.deepStrictEqual(eventsOf(send(protocol, part({ ...completed, output: "again" }))), [])
  })
})
