import { assert, describe, it } from "@effect/vitest"
import type { Message, MessageDelivery } from "@corral/domain/session/Message"
import { queueState } from "../../src/composer/QueuedMessages.tsx"

const message = (id: string, to: string, state: MessageDelivery["state"], when: "next" | "now" = "next") =>
  // What the state does not depend on is left out.
  ({ id, to, when, delivery: { state } }) as unknown as Message

const busy = { isBusy: true, isOffline: false }
const free = { isBusy: false, isOffline: false }

describe("queueState", () => {
  const first = message("1", "a", "pending")
  const second = message("2", "a", "pending")
  const other = message("3", "b", "pending")
  const queue = [message("0", "a", "failed"), first, second, other]

  it("names the first message of each agent as the next one", () => {
    assert.deepStrictEqual(
      [first, second, other].map((each) => queueState(each, queue, busy)),
      ["next", "queued", "next"]
    )
  })

  it("is sending while nothing is before the message, and for input to a run in progress", () => {
    assert.strictEqual(queueState(first, queue, free), "sending")
    const input = message("4", "a", "pending", "now")
    assert.strictEqual(queueState(input, [...queue, input], busy), "sending")
    assert.strictEqual(queueState(first, [input, ...queue], busy), "next")
  })

  it("is held until a user continues, and holds up no other message", () => {
    const held = { ...first, delivery: { state: "pending" as const, held: true } }
    assert.strictEqual(queueState(held, [held, second], free), "held")
    assert.strictEqual(queueState(held, [held, second], { isBusy: true, isOffline: true }), "held")
    assert.strictEqual(queueState(second, [held, second], busy), "next")
    assert.strictEqual(queueState(second, [held, second], free), "sending")
  })

  it("waits for an offline device, and fails anyway", () => {
    assert.strictEqual(queueState(second, queue, { isBusy: true, isOffline: true }), "waits")
    assert.strictEqual(queueState(message("0", "a", "failed"), queue, { ...free, isOffline: true }), "failed")
  })
})
