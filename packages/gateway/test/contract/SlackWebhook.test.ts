/** The webhooks of a real Gateway that knows nothing but Slack. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { codeOf } from "@corral/testing/http/Contract"
import { until } from "@corral/testing/time/Until"
import type { SentBotMessage } from "@corral/testing/gateway/FakeFeishu"
import {
  BOT_TOKEN,
  callback,
  direct,
  FakeSlack,
  FORM_TYPE,
  JSON_TYPE,
  mention,
  pushedEvent,
  pushedSlackClick,
  pushedSlackMessage,
  signedSlackRequest,
  SLACK_APP,
  SLACK_SECRET,
  slackClick,
  TEAM
} from "@corral/testing/gateway/FakeSlack"
import { EVENTS as FEISHU_EVENTS, GatewayProcess } from "@corral/testing/gateway/GatewayProcess"

const EVENTS = "/integrations/slack/events"
const CARDS = "/integrations/slack/card-actions"
const MINUTE = 60_000

describe("the webhooks of Slack", () => {
  let fake: FakeSlack
  let gateway: GatewayProcess
  beforeAll(async () => {
    fake = await FakeSlack.start()
    gateway = new GatewayProcess({
      entry: "handling",
      env: {
        CORRAL_FEISHU_APP_ID: "",
        CORRAL_FEISHU_ENCRYPT_KEY: "",
        CORRAL_FEISHU_VERIFICATION_TOKEN: "",
        CORRAL_FEISHU_TENANTS: "",
        CORRAL_FEISHU_BOT_ID: "",
        CORRAL_SLACK_APP_ID: SLACK_APP,
        CORRAL_SLACK_SIGNING_SECRET: SLACK_SECRET,
        CORRAL_SLACK_BOT_TOKEN: BOT_TOKEN,
        CORRAL_SLACK_TEAMS: TEAM,
        CORRAL_SLACK_DOMAIN: fake.url
      }
    })
    await gateway.start()
  })
  afterAll(async () => {
    await gateway.remove()
    await fake.stop()
  })

  const stored = () => gateway.count("FROM corral_gateway.inbox")
  /** The kinds of what was kept since. */
  const assertKept = async (more: number, use: () => Promise<void>) => {
    const before = await stored()
    await use()
    assert.strictEqual((await stored()) - before, more)
  }
  const assertTaken = async (sent: SentBotMessage, path: string) => {
    const answer = await gateway.send(sent, path)
    assert.deepStrictEqual([answer.status, answer.text, answer.headers.get("content-length")], [200, "", "0"])
  }
  const assertRefused = (sent: SentBotMessage, path: string, status: number, code: string) =>
    assertKept(0, async () => {
      const answer = await gateway.send(sent, path)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code])
    })

  it("keeps a signed event once, however often it comes, and what it says is handled", async () => {
    await assertKept(1, async () => {
      for (const _ of [1, 2, 3]) await assertTaken(pushedSlackMessage("Ev_once"), EVENTS)
    })
    const called = () => gateway.query("SELECT event FROM calls WHERE key = 'slack:Ev_once'")
    const [row] = await until(async () => ((await called()).length > 0 ? called() : undefined), "the event")
    const event = row?.["event"] as { readonly payload: object } | undefined
    assert.deepInclude(event?.payload, { platform: "slack", tenant: TEAM, text: "hello", chatType: "direct" })
  })

  it("keeps a click once, and a second deliberate one", async () => {
    const again = { type: "button", action_id: "action-0", action_ts: "1790000009.000001", value: "act_1" }
    await assertKept(2, async () => {
      for (const _ of [1, 2]) await assertTaken(pushedSlackClick(slackClick("act_1")), CARDS)
      await assertTaken(pushedSlackClick(slackClick("act_1", { actions: [again] })), CARDS)
    })
  })

  it("refuses a forged signature and an old one, at both doors", async () => {
    const good = {
      [EVENTS]: pushedSlackMessage("Ev_forged"),
      [CARDS]: pushedSlackClick(slackClick("act_forged"))
    }
    for (const [path, { body, headers }] of Object.entries(good)) {
      const forged = { ...headers, "x-slack-signature": `v0=${"0".repeat(64)}` }
      await assertRefused({ body, headers: forged }, path, 401, "unauthorized")
      const { "x-slack-signature": _, ...unsigned } = headers
      await assertRefused({ body, headers: unsigned }, path, 401, "unauthorized")
    }
    const old = Date.now() - 6 * MINUTE
    await assertRefused(pushedEvent(callback(direct("x")), old), EVENTS, 401, "unauthorized")
    await assertRefused(pushedSlackClick(slackClick("x"), old), CARDS, 401, "unauthorized")
  })

  it("refuses another app, another team and what is no event", async () => {
    const foreign = callback(direct("x"), { api_app_id: "A2" })
    await assertRefused(pushedEvent(foreign), EVENTS, 403, "permission_denied")
    await assertRefused(
      pushedSlackClick(slackClick("x", { team: { id: "T2" } })),
      CARDS,
      403,
      "permission_denied"
    )
    await assertRefused(signedSlackRequest("{", JSON_TYPE), EVENTS, 422, "schema_validation_failed")
    await assertRefused(signedSlackRequest("payload=%7B", FORM_TYPE), CARDS, 422, "schema_validation_failed")
  })

  it("takes a form at one door and JSON at the other, and serves no platform beside", async () => {
    await assertRefused(pushedSlackClick(slackClick("x")), EVENTS, 415, "unsupported_media_type")
    await assertRefused(pushedSlackMessage("Ev_door"), CARDS, 415, "unsupported_media_type")
    assert.strictEqual((await gateway.send(pushedSlackMessage("Ev_door"), FEISHU_EVENTS)).status, 404)
  })

  it("answers the trial of its address, and keeps nothing of it", () =>
    assertKept(0, async () => {
      const trial = { type: "url_verification", token: "x", challenge: "c-42" }
      const answer = await gateway.send(pushedEvent(trial), EVENTS)
      assert.deepStrictEqual([answer.status, answer.body], [200, { challenge: "c-42" }])
    }))

  it("keeps nothing of what people say to each other", () =>
    assertKept(0, async () => {
      const message = direct("between us", { channel: "C0TEAM", channel_type: "channel" })
      await assertTaken(pushedEvent(callback(message, { event_id: "Ev_between" })), EVENTS)
    }))

  it("asks the platform who it is, for a mention", async () => {
    const sent = pushedEvent(callback(mention("go on"), { event_id: "Ev_mention" }))
    await assertTaken(sent, EVENTS)
    const text = () =>
      gateway.query("SELECT event->'payload'->>'text' AS text FROM calls WHERE key = 'slack:Ev_mention'")
    const [row] = await until(async () => ((await text()).length > 0 ? text() : undefined), "the mention")
    assert.strictEqual(row?.["text"], "go on")
  })

  it("takes nothing while the store is not there: an event comes again, a click fails where it was made", async () => {
    // Every insert waits for this.
    const release = await gateway.holdInbox()
    const refused = await Promise.all([
      gateway.send(pushedSlackMessage("Ev_down"), EVENTS),
      gateway.send(pushedSlackClick(slackClick("act_down")), CARDS)
    ])
    assert.deepStrictEqual(
      refused.map((answer) => [answer.status, codeOf(answer)]),
      [
        [503, "overloaded"],
        [503, "overloaded"]
      ]
    )
    await release()
  })

  it("is given an event until it takes it", async () => {
    let tries = 0
    const statuses = await fake.push(gateway.url + EVENTS, () => {
      tries += 1
      const sent = pushedSlackMessage("Ev_again")
      return tries < 3 ? { ...sent, headers: { ...sent.headers, "x-slack-signature": "v0=" } } : sent
    })
    assert.deepStrictEqual(statuses, [401, 401, 200])
  })

  it("says nothing of its secrets, or of what was sent, in its log", () => {
    for (const secret of [SLACK_SECRET, BOT_TOKEN, "hello", "between us", "hooks.slack.com"])
      assert.notInclude(gateway.stderr, secret)
    assert.include(gateway.stderr, "a request was refused")
  })
})
