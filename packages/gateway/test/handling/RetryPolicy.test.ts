import { assert, describe, it } from "@effect/vitest"
import type { Inbound } from "../../src/platform/ChatPlatform.ts"
import { deadlineOf, nextAttempt, PATIENCE_MS } from "../../src/handling/Workers.ts"

const now = 1_000_000
const deadline = now + PATIENCE_MS

describe("deadlineOf", () => {
  const receivedAt = now - 5_000
  const inbound: Inbound = {
    platform: "feishu",
    app: "app",
    tenant: "tenant",
    upstreamId: "event",
    kind: "message",
    chatId: "chat",
    senderId: "sender",
    cardId: "",
    body: "{}",
    receivedAt
  }

  it("counts from the first failure, but not from before the event was received", () => {
    const deadlineAfter = (failingSince: number | undefined) => deadlineOf({ failingSince, inbound }, now)
    assert.strictEqual(deadlineAfter(undefined), now + PATIENCE_MS)
    assert.strictEqual(deadlineAfter(now - 1_000), now - 1_000 + PATIENCE_MS)
    assert.strictEqual(deadlineAfter(now - 60_000), receivedAt + PATIENCE_MS)
  })
})

describe("nextAttempt", () => {
  it("doubles the delay up to 30 seconds", () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 60].map((failures) => nextAttempt(failures, now, deadline))
    assert.deepStrictEqual(
      delays,
      [1, 2, 4, 8, 16, 30, 30, 30].map((seconds) => now + seconds * 1_000)
    )
  })

  it("waits as long as the platform asks", () => {
    assert.strictEqual(nextAttempt(0, now, deadline, 20_000), now + 20_000)
    assert.strictEqual(nextAttempt(3, now, deadline, 20), now + 8_000)
  })

  it("makes the last attempt at the deadline, and none after it", () => {
    assert.strictEqual(nextAttempt(5, deadline - 10_000, deadline), deadline)
    assert.isUndefined(nextAttempt(5, deadline, deadline))
    assert.isUndefined(nextAttempt(0, deadline + 1, deadline))
  })

  it("gives up when the platform asks to wait beyond the deadline", () => {
    assert.strictEqual(nextAttempt(0, now, deadline, PATIENCE_MS), deadline)
    assert.isUndefined(nextAttempt(0, now, deadline, PATIENCE_MS + 1))
  })
})
