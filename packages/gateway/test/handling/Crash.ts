/**
 * Ends a Gateway with SIGKILL while events come in, again and again, and lets the platform do what it does: send again what was not
 * acknowledged. In the end every event has had its effect once, and none is left.
 */
import { assert } from "@effect/vitest"
import { pushedMessage, type SentBotMessage } from "@corral/testing/gateway/FakeFeishu"
import { GatewayProcess } from "@corral/testing/gateway/GatewayProcess"

const EVENTS = 24

/** Sent until it is acknowledged, by whichever Gateway is there. */
const delivered = async (gateway: GatewayProcess, sent: SentBotMessage): Promise<void> => {
  const status = await gateway.sendTimed(sent).then(
    (answer) => answer.status,
    () => undefined
  )
  if (status === 200) return
  await new Promise((resolve) => setTimeout(resolve, 50))
  return delivered(gateway, sent)
}

const round = async (gateway: GatewayProcess, at: number) => {
  const deliveries = Array.from({ length: EVENTS }, (_, i) =>
    delivered(gateway, pushedMessage(`ev_${at}_${i}`, "hello", `oc_${i % 5}`, `ou_${i % 7}`))
  )
  // Before the commit, between it and the acknowledgement, after it: wherever that many milliseconds fall.
  if (at % 2 === 0) await new Promise((resolve) => setTimeout(resolve, (at * 7) % 60))
  else await Promise.race(deliveries)
  await gateway.end("SIGKILL")
  await gateway.start()
  await Promise.all(deliveries)
}

export const survives = async (rounds: number): Promise<void> => {
  const gateway = new GatewayProcess({ entry: "handling", env: { TEST_MAX_CRASHES: "20" } })
  try {
    await gateway.start()
    for (let at = 0; at < rounds; at++) await round(gateway, at)
    const all = rounds * EVENTS
    await gateway.settled(all, 120_000)
    assert.strictEqual(await gateway.count("FROM effects"), all)
    assert.strictEqual(await gateway.count("FROM corral_gateway.inbox"), all)
    assert.strictEqual(await gateway.count("FROM corral_gateway.dead_letters"), 0)
    // Positions in each chat are dense, and every queue is empty.
    const [odd] = await gateway.query(
      `SELECT count(*)::int AS n FROM corral_gateway.chats c
       WHERE received <> (SELECT count(*) FROM corral_gateway.inbox WHERE chat = c.id)`
    )
    assert.strictEqual(odd?.["n"], 0)
    assert.strictEqual(await gateway.count("FROM corral_gateway.sender_queues WHERE head IS NOT NULL"), 0)
  } finally {
    await gateway.remove()
  }
}
