/** What becomes of events once they are kept: by a real Gateway with a handler, over real HTTP and PostgreSQL. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { IntegrationEvent } from "@corral/domain/chat/Integration"
import { Schema } from "effect"
import { until } from "@corral/testing/time/Until"
import { gatewayMetrics } from "../../src/GatewayMetrics.ts"
import { PrometheusText } from "@corral/testing/http/PrometheusText"
import {
  BOT,
  click,
  envelope,
  feishuMessage,
  encryptedPush,
  pushedClick,
  pushedMessage
} from "@corral/testing/gateway/FakeFeishu"
import { CARDS, EVENTS, GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { sql } from "../harness/Sql.ts"

const METRICS_TOKEN = "a-token-of-more-than-32-characters"
const decode = Schema.decodeUnknownSync(IntegrationEvent, { onExcessProperty: "error" })

describe("the work of a Gateway", () => {
  let gateway: GatewayProcess
  beforeAll(async () => {
    gateway = new GatewayProcess({ entry: "handling", env: { CORRAL_METRICS_TOKEN: METRICS_TOKEN } })
    await gateway.start()
  })
  afterAll(async () => {
    await gateway.remove()
  })

  const done = (id: string) =>
    until(
      async () =>
        (await gateway.count(
          `FROM corral_gateway.inbox WHERE upstream_id = ${sql(id)} AND done_at IS NOT NULL`
        )) === 1
          ? true
          : undefined,
      `the end of ${id}`
    )
  const callsOf = async (id: string) =>
    (await gateway.query(`SELECT event FROM calls WHERE key = ${sql(`feishu:${id}`)} ORDER BY at`)).map(
      ({ event }) => decode(event)
    )
  /** Events of a chat, in the order of their calls. */
  const orderOf = async (chatId: string) =>
    (
      await gateway.query(
        `SELECT substr(key, 8) AS id FROM calls WHERE event->'payload'->>'chatId' = ${sql(chatId)} ORDER BY at`
      )
    ).map(({ id }) => id)
  const handled = async (id: string) => {
    await done(id)
    return callsOf(id)
  }

  it("gives a direct message to the handler, and keeps its body no longer", async () => {
    await gateway.deliver(pushedMessage("ev_dm", "run the tests", "oc_dm"))
    const [event, more] = await handled("ev_dm")
    assert.isUndefined(more)
    assert.match(event?.id ?? "", /^evt_/)
    assert.deepStrictEqual(
      { ...event, id: undefined, createdAt: undefined },
      {
        id: undefined,
        seq: 1,
        type: "integration.message.received",
        key: "feishu:ev_dm",
        createdAt: undefined,
        payload: {
          v: 1,
          platform: "feishu",
          upstreamEventId: "ev_dm",
          app: "cli_a0123456789abcde",
          tenant: "tenant_1",
          chatId: "oc_dm",
          chatType: "direct",
          messageId: "om_1",
          senderId: "ou_ada",
          text: "run the tests"
        }
      }
    )
    assert.strictEqual(
      await gateway.count("FROM corral_gateway.inbox WHERE upstream_id = 'ev_dm' AND body IS NOT NULL"),
      0
    )
  })

  it("gives a click to the handler, a second deliberate one too", async () => {
    await gateway.deliver(pushedClick("ev_c1", { a: "act_1" }, "oc_card"), CARDS)
    await gateway.deliver(pushedClick("ev_c2", { a: "act_1" }, "oc_card"), CARDS)
    const [[first], [second]] = [await handled("ev_c1"), await handled("ev_c2")]
    assert.deepStrictEqual([first?.seq, second?.seq], [1, 2])
    assert.deepStrictEqual(second?.payload, {
      v: 1,
      platform: "feishu",
      upstreamEventId: "ev_c2",
      app: "cli_a0123456789abcde",
      tenant: "tenant_1",
      chatId: "oc_card",
      messageId: "om_card",
      actionId: "act_1",
      operatorId: "ou_ada"
    })
  })

  it("passes over what is not meant for the bot", async () => {
    const mention = (id: string) => [{ key: "@_user_1", name: "Corral", id: { open_id: id } }]
    const group = (id: string, over: object) =>
      gateway.deliver(
        encryptedPush(
          envelope(
            { event_id: id },
            feishuMessage("@_user_1 go", "oc_group", { chat_type: "group", ...over })
          )
        )
      )
    await group("ev_g1", {})
    await group("ev_g2", { mentions: mention("ou_another_bot") })
    await group("ev_g3", { mentions: mention(BOT) })
    assert.deepStrictEqual(await handled("ev_g1"), [])
    assert.deepStrictEqual(await handled("ev_g2"), [])
    const [event] = await handled("ev_g3")
    assert.deepInclude(event?.payload, { chatType: "group", text: "go" })
    await gateway.deliver(
      encryptedPush(envelope({ event_id: "ev_foreign", event_type: "card.action.trigger" }, click({})))
    )
    assert.deepStrictEqual(await handled("ev_foreign"), [])
  })

  it("handles the events of a sender in their order, one at a time", async () => {
    const ids = Array.from({ length: 30 }, (_, i) => `ev_row_${i}`)
    for (const id of ids) await gateway.deliver(pushedMessage(id, id, "oc_row"))
    await done("ev_row_29")
    const rows = await gateway.query(
      "SELECT key, (event->>'seq')::int AS seq FROM calls WHERE key LIKE 'feishu:ev_row_%' ORDER BY at"
    )
    assert.deepStrictEqual(
      rows,
      ids.map((id, at) => ({ key: `feishu:${id}`, seq: at + 1 }))
    )
  })

  it("retries a failed event, moves it to the dead letters, and continues with the sender", async () => {
    await gateway.deliver(pushedMessage("ev_fail", "fail", "oc_sick"))
    await gateway.deliver(pushedMessage("ev_refuse", "refuse", "oc_sick"))
    await gateway.deliver(pushedMessage("ev_after", "hello", "oc_sick"))
    await done("ev_after")
    const counts = [await callsOf("ev_fail"), await callsOf("ev_refuse"), await callsOf("ev_after")].map(
      (calls) => calls.length
    )
    assert.deepStrictEqual(counts, [2, 1, 1])
    assert.deepStrictEqual(await orderOf("oc_sick"), ["ev_fail", "ev_fail", "ev_refuse", "ev_after"])
    const buried = await gateway.query(
      "SELECT upstream_id, attempts, reason, body IS NOT NULL AS whole FROM corral_gateway.dead_letters ORDER BY buried_at"
    )
    assert.deepStrictEqual(buried, [
      { upstream_id: "ev_fail", attempts: 2, reason: "It was told to.", whole: true },
      { upstream_id: "ev_refuse", attempts: 1, reason: "It was told to.", whole: true }
    ])
  })

  it("makes no sender wait for another one of the same chat", async () => {
    await gateway.deliver(pushedMessage("ev_waits", "after feishu:ev_beside", "oc_pair"))
    await gateway.deliver(pushedMessage("ev_behind", "hello", "oc_pair"))
    await gateway.deliver(pushedMessage("ev_beside", "hello", "oc_pair", "ou_bob"))
    await done("ev_behind")
    assert.deepStrictEqual((await orderOf("oc_pair")).toSorted(), ["ev_behind", "ev_beside", "ev_waits"])
  })

  it("buries at once what is not shaped as its type says", async () => {
    await gateway.deliver(encryptedPush(envelope({ event_id: "ev_odd" }, { message: "?" })))
    await done("ev_odd")
    assert.strictEqual(
      await gateway.count("FROM corral_gateway.dead_letters WHERE upstream_id = 'ev_odd'"),
      1
    )
  })

  it("counts what came in and what became of it", async () => {
    const page = `${gateway.url}/metrics`
    for (const headers of [{}, { authorization: "Bearer of-something-else-than-that-token" }])
      assert.strictEqual((await fetch(page, { headers })).status, 401)
    const metrics = async () => {
      const response = await fetch(page, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
      return new PrometheusText(await response.text())
    }
    const before = await metrics()
    before.assertRows("gateway", gatewayMetrics)
    await gateway.send(pushedMessage("ev_counted"))
    await gateway.send(pushedMessage("ev_counted"))
    await done("ev_counted")
    // Asked for once a second at most.
    const after = await until(async () => {
      const read = await metrics()
      return read.sum("corral_gateway_inbox_depth") === 0 ? read : undefined
    }, "an empty inbox")
    const moved = (name: string, labels: Readonly<Record<string, string>>) =>
      after.sum(`corral_gateway_${name}`, labels) - before.sum(`corral_gateway_${name}`, labels)
    assert.strictEqual(moved("events_total", { platform: "feishu", outcome: "kept" }), 1)
    assert.strictEqual(moved("events_total", { platform: "feishu", outcome: "known" }), 1)
    assert.strictEqual(moved("handled_total", { outcome: "done" }), 1)
    assert.strictEqual(
      after.sum("corral_gateway_dead_letters"),
      await gateway.count("FROM corral_gateway.dead_letters")
    )
    assert.isAtLeast(after.sum("corral_gateway_dead_letters"), 1)
    assert.strictEqual(after.sum("corral_gateway_inbox_oldest_age_seconds"), 0)
    assert.isAtLeast(moved("http_request_duration_seconds_count", { route: EVENTS, status: "2xx" }), 2)
  })

  it("buries an event that ends the Gateway each time", async () => {
    const killed = { code: null, signal: "SIGKILL" as const }
    await gateway.send(pushedMessage("ev_die", "die", "oc_poison")).catch(() => undefined)
    assert.deepEqual(await gateway.ended(), killed)
    await gateway.start()
    await gateway.send(pushedMessage("ev_alive", "hello", "oc_poison"))
    assert.deepEqual(await gateway.ended(), killed)
    await gateway.start()
    await until(
      async () => ((await callsOf("ev_alive")).length === 1 ? true : undefined),
      "the next event of the chat",
      60_000
    )
    assert.strictEqual((await callsOf("ev_die")).length, 2)
    assert.deepStrictEqual(
      await gateway.query("SELECT reason FROM corral_gateway.dead_letters WHERE upstream_id = 'ev_die'"),
      [{ reason: "It was never finished." }]
    )
  })
})
