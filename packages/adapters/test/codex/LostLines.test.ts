import type { AdapterOutput, Protocol } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { MAX_LINE_BYTES } from "../../src/text/Lines.ts"
import { codex } from "../../src/Codex.ts"
import { events, item, names, replies, send, start, startProtocol } from "./Conversation.ts"

const long = "x".repeat(MAX_LINE_BYTES)

/** Outputs of a line over the limit, after its report. */
const lost = (protocol: Protocol, value: object): ReadonlyArray<AdapterOutput> => {
  const outputs = send(protocol, value)
  assert.deepStrictEqual(names(outputs).slice(0, 2), ["schema.validation_failed", "run.notice"])
  return outputs.slice(2)
}

describe("lines of Codex over the limit", () => {
  it("with a request are declined", () => {
    const cases: ReadonlyArray<readonly [string, object]> = [
      ["item/commandExecution/requestApproval", { result: { decision: "decline" } }],
      ["item/permissions/requestApproval", { result: { permissions: {}, scope: "turn" } }],
      ["item/tool/requestUserInput", { result: { answers: {} } }],
      ["mcpServer/elicitation/request", { result: { action: "decline", content: null, _meta: null } }]
    ]
    for (const [method, response] of cases) {
      const outputs = lost(startProtocol(), { method, id: 3, params: { threadId: "own", message: long } })
      assert.deepStrictEqual(replies(outputs), [{ id: 3, ...response }])
    }
    const unknown = lost(startProtocol(), { method: "item/tool/call", id: 4, params: { arguments: long } })
    assert.strictEqual(Object(replies(unknown)[0]).error.code, -32_601)
  })

  it("with the result of a call close it with what they name", () => {
    const command = {
      type: "commandExecution",
      id: "c",
      command: "cat big.txt",
      cwd: "/workspace",
      status: "inProgress"
    }
    const protocol = startProtocol()
    send(protocol, item("started", command))
    const outputs = lost(
      protocol,
      item("completed", {
        ...command,
        status: "failed",
        commandActions: [],
        aggregatedOutput: long,
        exitCode: 3
      })
    )
    assert.deepStrictEqual(
      events(outputs).map(({ payload }) => payload),
      [{ callId: "c", status: "failed", output: "The result was too long to be read.", tool: "shell" }]
    )
  })

  it("with a patch leave its files unknown, so that its approval is of high risk", () => {
    const protocol = startProtocol()
    const changes = [
      { path: "/workspace/a.ts", kind: { type: "add" }, diff: "a\n" },
      { path: "/workspace/b.ts", kind: { type: "add" }, diff: long }
    ]
    lost(protocol, item("started", { type: "fileChange", id: "p", changes, status: "inProgress" }))
    const [approval] = send(protocol, {
      id: 3,
      method: "item/fileChange/requestApproval",
      params: { threadId: "own", itemId: "p" }
    })
    assert(approval?._tag === "Approval")
    assert.deepStrictEqual([approval.request.risk, approval.request.files], ["high", undefined])
  })

  it("with the end of the turn ask Codex how it ended", () => {
    const protocol = startProtocol()
    const outputs = lost(protocol, {
      method: "turn/completed",
      params: { threadId: "own", turn: { id: "turn-1", items: [{ text: long }], status: "completed" } }
    })
    const [request] = replies(outputs)
    assert.deepInclude(request, { method: "thread/turns/list" })
    const response = { id: Object(request).id, result: { data: [{ id: "turn-1", status: "completed" }] } }
    assert.deepStrictEqual(names(send(protocol, response)), ["Completed"])
  })

  it("with the conversation that is continued start the turn", () => {
    const protocol = codex.protocol({ ...start, resumeSessionId: "own" })
    send(protocol, { id: 0, result: {} })
    const outputs = protocol.step(
      Buffer.from(`${JSON.stringify({ id: 1, result: { thread: { id: "own", turns: [long] } } })}\n`)
    )
    assert.strictEqual(names(outputs)[0], "run.started")
    assert.deepInclude(replies(outputs)[0], { method: "turn/start" })
  })
})
