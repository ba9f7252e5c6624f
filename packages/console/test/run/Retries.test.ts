import { assert, describe, it } from "@effect/vitest"
import { Envelope } from "@corral/domain/run/RunEvent"
import { Schema } from "effect"
import { runMessages } from "../../src/run/messages.ts"
import { EventSequence } from "@corral/domain/run/EventSequence"
import { RunView } from "@corral/domain/run/RunView"
import { decodeEventFields } from "@corral/client/run/EventFields"

const event = (seq: number, type: string, payload: Record<string, unknown>): Envelope =>
  Schema.decodeUnknownSync(Envelope)({
    id: `evt_${String(seq).padStart(26, "0")}`,
    seq,
    type,
    runId: "run_00000000000000000000000000",
    createdAt: "2026-01-01T00:00:00.000Z",
    payload: { v: 1, ...payload }
  })

describe("Retries of a run", () => {
  it("are shown as one block when several follow each other", () => {
    const view = new RunView()
    const sequence = new EventSequence(decodeEventFields)
    const events = [
      event(1, "run.created", { workspace: "w", mode: "ask", input: { text: "hi" } }),
      event(2, "runtime.retrying", { reason: "server_error", attempt: 1 }),
      event(3, "runtime.retrying", { reason: "server_error", attempt: 2 }),
      event(4, "run.message.completed", { messageId: "m", role: "assistant", channel: "text", text: "Yes" }),
      event(5, "runtime.retrying", { reason: "silence", silentMs: 60_000 })
    ]
    for (const each of events) {
      const next = sequence.nextOf(each)
      if (next !== undefined) view.apply(next)
    }
    const kinds = view.blocks.map((block) => (block.kind === "retry" ? block.retry.attempt : block.kind))
    assert.deepStrictEqual(kinds, ["message", 2, "message", undefined])
    assert.strictEqual(view.unknown, 0)
  })

  it("says them in both languages", () => {
    const { en, zh } = runMessages
    const retry = { reason: "rate_limited", attempt: 2, maxAttempts: 5, delayMs: 4_000 }
    assert.strictEqual(
      en.retrying(retry),
      "Model call failed: rate_limited. Retrying in 4 s (attempt 2 of 5)."
    )
    assert.strictEqual(zh.retrying(retry), "模型调用失败：rate_limited。4 秒后重试（第 2 次，共 5 次）。")
    assert.strictEqual(en.retrying({ reason: "silence", silentMs: 30_000 }), "No output for 30 s.")
    assert.strictEqual(zh.retrying({ reason: "silence", silentMs: 30_000 }), "已有 30 秒没有输出。")
  })
})
