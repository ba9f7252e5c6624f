import type { AdapterOutput, Protocol, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { makeOpenCode } from "../src/OpenCode.ts"
import { qwen } from "../src/Qwen.ts"
import { plain, Talk } from "./AcpTalk.ts"

const start: RunStart = { prompt: "First.", mode: "ask", workspacePath: "/workspace" }
const send = (protocol: Protocol, ...values: ReadonlyArray<object>): ReadonlyArray<AdapterOutput> =>
  values.flatMap((value) => protocol.step(Buffer.from(`${JSON.stringify(value)}\n`)))
const turnsIn = (outputs: ReadonlyArray<AdapterOutput>) =>
  outputs.filter((output) => output._tag === "TurnStarted")

describe("a message to an idle run", () => {
  const byMessage: ReturnType<typeof turnsIn> = [{ _tag: "TurnStarted", by: "message" }]

  it("starts a turn of Qwen Code, and a second message waits", () => {
    const protocol = qwen.protocol(start)
    const message = { type: "stream_event", event: { type: "message_start", message: { id: "m" } } }
    const result = { type: "result", subtype: "success", is_error: false, num_turns: 1, result: "Done." }
    send(protocol, { type: "system", subtype: "init", session_id: "s" }, message, result)
    assert.include(protocol.input("Second."), "Second.")
    assert.strictEqual(protocol.input("Third."), "")
    assert.deepStrictEqual(turnsIn(send(protocol, message)), byMessage)
    send(protocol, result)
    assert.deepStrictEqual(
      turnsIn(send(protocol, { type: "stream_event", event: { type: "message_stop" } })),
      []
    )
  })

  it("starts a turn of OpenCode, and a second message waits", () => {
    const protocol = makeOpenCode({ node: "/node", bridge: "/bridge.mjs" }).protocol(start)
    const session = { id: "session", status: 200, body: { id: "ses_1", version: "1.18.33" } }
    const status = (type: string) => ({
      type: "session.status",
      properties: { sessionID: "ses_1", status: { type } }
    })
    send(protocol, { type: "bridge.response", properties: session }, status("busy"), status("idle"))
    assert.include(protocol.input("Second."), "Second.")
    assert.strictEqual(protocol.input("Third."), "")
    assert.deepStrictEqual(turnsIn(send(protocol, status("busy"))), byMessage)
  })

  it("starts a turn of an ACP agent", () => {
    const talk = new Talk(plain).open()
    talk.result({ stopReason: "end_turn" })
    talk.error(-32_601, "unknown method")
    talk.write(talk.protocol.input("Second."))
    assert.strictEqual(talk.last?.method, "session/prompt")
    talk.text("Hello")
    assert.deepStrictEqual(talk.tagged("TurnStarted"), byMessage)
  })
})
