/** Events that all come at once, each of them twice, while the store stands still for 2 seconds. */
import { assert } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import { pushedMessage, type SentBotMessage } from "@corral/testing/gateway/FakeFeishu"
import type { GatewayProcess } from "@corral/testing/gateway/GatewayProcess"

const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const STALLED =
  "FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND " +
  "mode = 'AccessExclusiveLock' AND granted AND relation = 'corral_gateway.inbox'::regclass"

/** Sends them as the platform does, but sooner: what is not acknowledged is sent again. Gives the milliseconds of every answer. */
export const burst = async (gateway: GatewayProcess, distinct: number): Promise<ReadonlyArray<number>> => {
  const events: ReadonlyArray<SentBotMessage> = Array.from({ length: distinct }, (_, i) =>
    pushedMessage(`ev_${i}`, "hello", `oc_${i % 97}`, `ou_${i % 89}`)
  )
  const acknowledged = async (sent: SentBotMessage): Promise<ReadonlyArray<number>> => {
    const { millis, status } = await gateway.sendTimed(sent)
    if (status === 200) return [millis]
    assert.strictEqual(status, 503)
    await wait(1_000)
    return [millis, ...(await acknowledged(sent))]
  }
  const stalled = gateway.query(
    "BEGIN; LOCK TABLE corral_gateway.inbox IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT"
  )
  await until(async () => ((await gateway.count(STALLED)) > 0 ? true : undefined), "the stall")
  const millis = (await Promise.all([...events, ...events].map(acknowledged))).flat()
  await stalled
  return millis
}

/** Each distinct one was handled, and none twice. */
export const assertHandledOnce = async (gateway: GatewayProcess, distinct: number): Promise<void> => {
  await gateway.settled(distinct)
  assert.strictEqual(await gateway.count("FROM calls"), distinct)
  assert.strictEqual(await gateway.count("FROM effects"), distinct)
}
