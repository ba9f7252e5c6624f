/** The webhooks of a real Gateway: what was found to break another webhook edge, and what this one says to it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { message as rawMessage, sendAndHold, sendRaw } from "@corral/testing/http/RawRequest"
import { codeOf } from "@corral/testing/http/Contract"
import {
  APP,
  unsigned,
  click,
  encrypted,
  envelope,
  goTime,
  feishuMessage,
  encryptedPush,
  pushedClick,
  pushedMessage,
  seconds,
  signed,
  TENANT,
  TOKEN
} from "@corral/testing/gateway/FakeFeishu"
import { CARDS, EVENTS, GatewayProcess } from "@corral/testing/gateway/GatewayProcess"
import { sql } from "../harness/Sql.ts"

const HOUR = 3_600_000

describe("the webhooks of Feishu", () => {
  let gateway: GatewayProcess
  beforeAll(async () => {
    gateway = new GatewayProcess()
    await gateway.start()
  })
  afterAll(async () => {
    await gateway.remove()
  })

  const stored = (id: string) => gateway.count(`FROM corral_gateway.inbox WHERE upstream_id = ${sql(id)}`)
  /** Refused, with nothing kept, and the Gateway still there. */
  const assertRefused = async (sent: Parameters<GatewayProcess["send"]>[0], status: number, code: string) => {
    const before = await gateway.count("FROM corral_gateway.inbox")
    for (const path of [EVENTS, CARDS]) {
      const answer = await gateway.send(sent, path)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code], path)
    }
    assert.strictEqual(await gateway.count("FROM corral_gateway.inbox"), before)
    assert.strictEqual((await gateway.get("/health")).status, 200)
  }

  it("keeps a signed event before it answers", async () => {
    const answer = await gateway.deliver(pushedMessage("ev_kept"))
    assert.deepStrictEqual([answer.status, answer.body], [200, {}])
    const [row] = await gateway.query(
      `SELECT kind, tenant, app, chat_id, body FROM corral_gateway.inbox WHERE upstream_id = 'ev_kept'`
    )
    assert.deepStrictEqual(
      { ...row, body: JSON.parse(String(row?.["body"])) },
      { kind: "message", tenant: TENANT, app: APP, chat_id: "oc_1", body: feishuMessage("hello") }
    )
  })

  it("keeps a message that is larger than one of the platform, so that its sender can be answered", async () => {
    const push = pushedMessage("ev_large", "x".repeat(2 * 1_048_576))
    const answer = await gateway.deliver(push)
    assert.deepStrictEqual([answer.status, await stored("ev_large")], [200, 1])
  })

  it("keeps a click, with the time as card callbacks write it", async () => {
    const answer = await gateway.deliver(pushedClick("ev_click"), CARDS)
    assert.deepStrictEqual([answer.status, answer.body], [200, {}])
    const [row] = await gateway.query(
      `SELECT kind, body FROM corral_gateway.inbox WHERE upstream_id = 'ev_click'`
    )
    assert.deepStrictEqual(JSON.parse(String(row?.["body"])), click({ a: "act_1" }))
  })

  it("refuses an unsigned encrypted body", () =>
    assertRefused(unsigned({ encrypt: "AAAA" }), 401, "unauthorized"))

  it("refuses an unsigned encrypted event", () =>
    assertRefused(
      unsigned({
        encrypt: encrypted(JSON.stringify(envelope({ event_id: "ev_unsigned" }, feishuMessage("x"))))
      }),
      401,
      "unauthorized"
    ))

  it("refuses a signed body that cannot be decrypted", () =>
    assertRefused(signed(`{"encrypt":"AAAA"}`, seconds(Date.now())), 422, "schema_validation_failed"))

  it("refuses 20 MB before they are read, said or not", async () => {
    const head = [`POST ${EVENTS} HTTP/1.1`, "Host: x", "Content-Type: application/json"]
    const response = await sendRaw(gateway.port, rawMessage([...head, `Content-Length: ${20 * 1_048_576}`]))
    assert.deepStrictEqual([response.status, codeOf(response)], [413, "payload_too_large"])
    const part = `80000\r\n${"a".repeat(0x80000)}\r\n`
    const parts = [
      rawMessage([...head, "Transfer-Encoding: chunked"]),
      ...Array.from({ length: 40 }, () => part),
      "0\r\n\r\n"
    ]
    const unsaid = await sendRaw(gateway.port, parts)
    assert.deepStrictEqual([unsaid.status, codeOf(unsaid)], [413, "payload_too_large"])
    assert.strictEqual((await gateway.get("/health")).status, 200)
  })

  it("does not wait for a body that does not come", async () => {
    const head = [
      `POST ${EVENTS} HTTP/1.1`,
      "Host: x",
      "Content-Type: application/json",
      "Content-Length: 100"
    ]
    const answer = await sendRaw(gateway.port, rawMessage(head, `{"encrypt":`))
    assert.deepStrictEqual([answer.status, answer.text], [408, ""])
  })

  it("outlives a client that goes away in the middle", async () => {
    const head = [
      `POST ${EVENTS} HTTP/1.1`,
      "Host: x",
      "Content-Type: application/json",
      "Content-Length: 100"
    ]
    const socket = await sendAndHold(gateway.port, rawMessage(head, `{"encrypt":`))
    socket.destroy()
    assert.strictEqual((await gateway.get("/health")).status, 200)
  })

  it("refuses a forged signature, and none", async () => {
    const { body, headers } = pushedMessage("ev_forged")
    await assertRefused(
      { body, headers: { ...headers, "x-lark-signature": "0".repeat(64) } },
      401,
      "unauthorized"
    )
    await assertRefused({ body, headers: { "content-type": "application/json" } }, 401, "unauthorized")
  })

  it("takes a signature over the bytes, however the JSON is laid out", async () => {
    const content = encrypted(JSON.stringify(envelope({ event_id: "ev_pretty" }, feishuMessage("x"))))
    const answer = await gateway.deliver(
      signed(JSON.stringify({ encrypt: content }, null, 4), seconds(Date.now()))
    )
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(await stored("ev_pretty"), 1)
  })

  it("refuses a week-old event, one of tomorrow, and one of no time", async () => {
    const content = envelope({ event_id: "ev_old" }, feishuMessage("x"))
    for (const timestamp of [seconds(Date.now() - 168 * HOUR), seconds(Date.now() + HOUR), "yesterday", ""])
      await assertRefused(encryptedPush(content, 0, timestamp), 401, "unauthorized")
  })

  it("takes an event that is tried again after 6 hours, and a click at once or not at all", async () => {
    const event = envelope({ event_id: "ev_6h" }, feishuMessage("x"))
    assert.strictEqual((await gateway.deliver(encryptedPush(event, Date.now() - 6 * HOUR))).status, 200)
    assert.strictEqual((await gateway.deliver(encryptedPush(event, Date.now()))).status, 200)
    assert.strictEqual(await stored("ev_6h"), 1)
    const old = Date.now() - 10 * 60_000
    const header = { event_id: "ev_late_click", event_type: "card.action.trigger" }
    await assertRefused(
      encryptedPush(envelope(header, click({ a: "x" })), old, goTime(old)),
      401,
      "unauthorized"
    )
  })

  it("refuses another token, another app and another tenant", async () => {
    await assertRefused(encryptedPush(envelope({ token: "x" }, feishuMessage("x"))), 401, "unauthorized")
    await assertRefused(
      encryptedPush(envelope({ app_id: "cli_b" }, feishuMessage("x"))),
      403,
      "permission_denied"
    )
    await assertRefused(
      encryptedPush(envelope({ tenant_key: "t2" }, feishuMessage("x"))),
      403,
      "permission_denied"
    )
  })

  it("keeps an event once, one after the other and all at once", async () => {
    assert.strictEqual((await gateway.deliver(pushedMessage("ev_twice"))).status, 200)
    assert.strictEqual((await gateway.deliver(pushedMessage("ev_twice"))).status, 200)
    assert.strictEqual(await stored("ev_twice"), 1)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => gateway.deliver(pushedMessage("ev_many")))
    )
    assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.strictEqual(await stored("ev_many"), 1)
  })

  it("answers the trial of its address only where the key was used, signed or not", async () => {
    const trial = { type: "url_verification", token: TOKEN, challenge: "c-42" }
    await assertRefused(unsigned(trial), 401, "unauthorized")
    await assertRefused(signed(JSON.stringify(trial), seconds(Date.now())), 422, "schema_validation_failed")
    const content = { encrypt: encrypted(JSON.stringify(trial)) }
    for (const sent of [unsigned(content), encryptedPush(trial)]) {
      const answer = await gateway.send(sent)
      assert.deepStrictEqual([answer.status, answer.body], [200, { challenge: "c-42" }])
    }
    const foreign = { encrypt: encrypted(JSON.stringify({ ...trial, token: "x" })) }
    await assertRefused(unsigned(foreign), 401, "unauthorized")
  })

  it("acknowledges a type that it does not know, and keeps nothing of it", async () => {
    const sent = encryptedPush(
      envelope({ event_id: "ev_unknown", event_type: "contact.user.created_v3" }, {})
    )
    const answer = await gateway.send(sent)
    assert.deepStrictEqual([answer.status, answer.body], [200, {}])
    assert.strictEqual(await stored("ev_unknown"), 0)
  })

  it("refuses what is no JSON, no UTF-8 and no event, however well it is signed", async () => {
    const now = seconds(Date.now())
    for (const body of ["", "{", "[]", "null", `{"encrypt":5}`, `${"[".repeat(100_000)}`])
      await assertRefused(signed(body, now), 422, "schema_validation_failed")
    const notUtf8 = JSON.stringify({ encrypt: encrypted(Buffer.from([0x22, 0xff, 0x22])) })
    await assertRefused(signed(notUtf8, now), 422, "schema_validation_failed")
    for (const content of [
      null,
      5,
      [],
      { schema: "1.0" },
      envelope({ event_id: "a\0b" }, feishuMessage("x"))
    ])
      await assertRefused(encryptedPush(content), 422, "schema_validation_failed")
  })

  it("refuses another kind of body, another method and another path", async () => {
    const sent = pushedMessage("ev_form")
    await assertRefused(
      { ...sent, headers: { ...sent.headers, "content-type": "text/plain" } },
      415,
      "unsupported_media_type"
    )
    const response = await gateway.get(EVENTS)
    assert.deepStrictEqual([response.status, response.headers.get("allow")], [405, "POST"])
    assert.strictEqual((await gateway.get("/integrations/slack/events")).status, 404)
    assert.strictEqual((await gateway.get("/")).status, 404)
  })

  it("says nothing of its secrets, or of what was sent, in its log", () => {
    for (const secret of [TOKEN, "an encrypt key", "hello"]) assert.notInclude(gateway.stderr, secret)
    assert.include(gateway.stderr, "a request was refused")
  })
})

describe("a bot without an Encrypt Key", () => {
  let gateway: GatewayProcess
  beforeAll(async () => {
    gateway = new GatewayProcess({ env: { CORRAL_FEISHU_ENCRYPT_KEY: "" } })
    await gateway.start()
  })
  afterAll(async () => {
    await gateway.remove()
  })

  it("takes plain events by their token", async () => {
    const trial = { type: "url_verification", token: TOKEN, challenge: "c-42" }
    assert.deepStrictEqual((await gateway.send(unsigned(trial))).body, { challenge: "c-42" })
    assert.strictEqual((await gateway.send(unsigned(envelope({}, feishuMessage("x"))))).status, 200)
    assert.strictEqual(
      (await gateway.send(unsigned(envelope({ token: "x" }, feishuMessage("x"))))).status,
      401
    )
    const old = envelope({ create_time: String(Date.now() - 168 * HOUR) }, feishuMessage("x"))
    assert.strictEqual((await gateway.send(unsigned(old))).status, 401)
  })

  it("keeps a text whole whose characters came in pieces", async () => {
    const sent = unsigned(envelope({ event_id: "ev_split" }, feishuMessage("书".repeat(50))))
    assert.strictEqual(await gateway.sendInPieces(sent), 200)
    const [row] = await gateway.query(`SELECT body FROM corral_gateway.inbox WHERE upstream_id = 'ev_split'`)
    assert.include(String(row?.["body"]), "书".repeat(50))
  })
})
