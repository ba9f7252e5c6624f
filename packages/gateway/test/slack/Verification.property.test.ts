import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as fc from "fast-check"
import type { WebhookKind, Verification } from "../../src/platform/ChatPlatform.ts"
import { makeSlackVerifier, slackSignature } from "../../src/slack/Verification.ts"
import type { SentBotMessage } from "@corral/testing/gateway/FakeFeishu"
import {
  SLACK_APP,
  SLACK_BOT,
  callback,
  slackClick,
  direct,
  FORM_TYPE,
  JSON_TYPE,
  mention,
  pushedSlackClick,
  pushedEvent,
  SLACK_SECRET,
  slackSeconds,
  signedSlackRequest,
  TEAM
} from "@corral/testing/gateway/FakeSlack"

const NOW = 1_790_000_000_000
const kinds: ReadonlyArray<WebhookKind> = ["events", "card-actions"]
const verify = makeSlackVerifier("slack", {
  appId: SLACK_APP,
  signingSecret: Redacted.make(SLACK_SECRET),
  domain: "https://slack.com",
  teams: [TEAM],
  language: "en"
})
const at = (kind: WebhookKind, { body, headers }: SentBotMessage) =>
  verify({ kind, body, headers, receivedAt: NOW })
const event = (payload: unknown) => at("events", pushedEvent(payload, NOW))
const clicked = (payload: unknown) => at("card-actions", pushedSlackClick(payload, NOW))

const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array))
const goods: ReadonlyArray<readonly [WebhookKind, SentBotMessage]> = [
  ["events", pushedEvent(callback(direct("hello")), NOW)],
  ["card-actions", pushedSlackClick(slackClick("act_1"), NOW)]
]

describe("a verifier of Slack's requests", () => {
  it("computes the signature of the platform's own example", () => {
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    assert.strictEqual(
      slackSignature("1531420618", "8f742231b10e8888abcd99yyyzzz85a5", Buffer.from(body)),
      "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    )
  })

  it("gives a verdict on any bytes, signed or not, and accepts none of them", () => {
    fc.assert(
      fc.property(bytes, fc.string({ maxLength: 40 }), fc.constantFrom(...kinds), (body, timestamp, kind) => {
        const now = slackSeconds(NOW)
        for (const sent of [
          { body, headers: {} },
          signedSlackRequest(body, JSON_TYPE, timestamp),
          signedSlackRequest(body, FORM_TYPE, now)
        ])
          assert.strictEqual(at(kind, sent)._tag, "Refused")
      })
    )
  })

  it("gives a verdict on any JSON, signed, at either address", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...kinds), (value, kind) => {
        for (const sent of [pushedEvent(value, NOW), pushedSlackClick(value, NOW)])
          assert.strictEqual(at(kind, sent)._tag, "Refused")
      })
    )
  })

  it("gives a verdict on any content of an event or a click", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (held, value) => {
        assert.strictEqual(event(callback(held))._tag, "Ignored")
        for (const payload of [callback(direct("x", held)), callback(held, held)])
          assert.notStrictEqual(event(payload)._tag, "Challenge")
        for (const payload of [
          slackClick(value, held),
          slackClick(value),
          slackClick(value, { actions: value })
        ])
          assert.include(["Accepted", "Refused"], clicked({ ...payload, type: "block_actions" })._tag)
      })
    )
  })

  it("refuses a signed body of which any bit was changed", () => {
    for (const [kind, good] of goods) {
      assert.strictEqual(at(kind, good)._tag, "Accepted")
      fc.assert(
        fc.property(fc.nat(good.body.length * 8 - 1), (bit) => {
          const body = Buffer.from(good.body)
          body.writeUInt8(body.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
          assert.deepInclude(at(kind, { body, headers: good.headers }), {
            _tag: "Refused",
            code: "unauthorized"
          })
        })
      )
    }
  })

  it("refuses headers that were changed, left out or sent twice", () => {
    for (const [kind, good] of goods) {
      for (const name of ["x-slack-request-timestamp", "x-slack-signature"]) {
        const { [name]: value = "", ...rest } = good.headers
        for (const headers of [
          rest,
          { ...rest, [name]: `${value}0` },
          { ...rest, [name]: `${value}, ${value}` }
        ])
          assert.deepInclude(at(kind, { body: good.body, headers }), {
            _tag: "Refused",
            code: "unauthorized"
          })
      }
    }
  })

  it("takes what was signed within 5 minutes, before or after, and nothing outside", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000, max: 1_000 }), (ago) => {
        const time = NOW - ago * 1_000
        const wanted = Math.abs(ago) <= 300 ? "Accepted" : "Refused"
        assert.strictEqual(at("events", pushedEvent(callback(direct("x")), time))._tag, wanted)
        assert.strictEqual(at("card-actions", pushedSlackClick(slackClick("a"), time))._tag, wanted)
      })
    )
  })

  it("answers a trial of the address only where it is signed, and only where events come", () => {
    const trial = JSON.stringify({ type: "url_verification", token: "x", challenge: "c-42" })
    const good = signedSlackRequest(trial, JSON_TYPE, slackSeconds(NOW))
    assert.deepInclude(at("events", good), { _tag: "Challenge" })
    assert.deepInclude(at("events", { ...good, headers: {} }), { _tag: "Refused", code: "unauthorized" })
    assert.strictEqual(at("card-actions", pushedSlackClick(JSON.parse(trial), NOW))._tag, "Refused")
  })

  it("refuses another app and another team", () => {
    const assertForeign = (verdict: Verification) =>
      assert.deepInclude(verdict, { _tag: "Refused", code: "permission_denied" })
    assertForeign(event(callback(direct("x"), { api_app_id: "A2" })))
    assertForeign(event(callback(direct("x"), { team_id: "T2" })))
    assertForeign(clicked(slackClick("a", { api_app_id: "A2" })))
    assertForeign(clicked(slackClick("a", { team: { id: "T2" } })))
  })

  it("hears direct messages, files and mentions, and nothing else that is said", () => {
    for (const received of [
      direct("x"),
      direct("x", { subtype: "file_share" }),
      direct("x", { subtype: "thread_broadcast" }),
      direct("x", { subtype: null, bot_id: null }),
      mention("x")
    ])
      assert.strictEqual(event(callback(received))._tag, "Accepted")
    for (const passed of [
      direct("x", { subtype: "message_changed" }),
      direct("x", { bot_id: "B1" }),
      mention("x", { bot_id: "B1" }),
      direct(`<@${SLACK_BOT}> x`, { channel_type: "channel" }),
      direct("x", { channel_type: "mpim" }),
      { type: "reaction_added" }
    ])
      assert.strictEqual(event(callback(passed))._tag, "Ignored")
    assert.strictEqual(
      event({ type: "app_rate_limited", team_id: TEAM, api_app_id: SLACK_APP })._tag,
      "Ignored"
    )
    assert.strictEqual(clicked(slackClick("a", { type: "view_submission" }))._tag, "Ignored")
  })

  it("knows a click again, and tells another one, however little differs", () => {
    const idOf = (payload: object) => {
      const verdict = clicked(payload)
      assert(verdict._tag === "Accepted")
      return verdict.inbound.upstreamId
    }
    const action = { type: "button", action_id: "action-0", action_ts: "1790000001.000001", value: "act_1" }
    const container = { message_ts: "1790000000.000300", channel_id: "C0TEAM" }
    const first = idOf(slackClick("act_1"))
    assert.strictEqual(idOf(slackClick("act_1", { trigger_id: "another", response_url: null })), first)
    const others = [
      slackClick("act_1", { actions: [{ ...action, action_ts: "1790000001.000002" }] }),
      slackClick("act_1", { actions: [{ ...action, action_id: "action-1" }] }),
      slackClick("act_1", { user: { id: "U0BO" } }),
      slackClick("act_1", { channel: { id: "C2" } }),
      slackClick("act_1", { container: { ...container, message_ts: "1" } })
    ].map(idOf)
    assert.strictEqual(new Set([first, ...others]).size, 6)
  })

  it("takes a form with one payload, and no other", () => {
    const payload = JSON.stringify(slackClick("act_1"))
    const form = (pairs: ReadonlyArray<[string, string]>) =>
      at(
        "card-actions",
        signedSlackRequest(new URLSearchParams([...pairs]).toString(), FORM_TYPE, slackSeconds(NOW))
      )
    assert.strictEqual(form([["payload", payload]])._tag, "Accepted")
    assert.strictEqual(form([])._tag, "Refused")
    assert.strictEqual(
      form([
        ["payload", payload],
        ["payload", payload]
      ])._tag,
      "Refused"
    )
    assert.strictEqual(form([["payload", "{"]])._tag, "Refused")
  })

  it("keeps nothing of a click but what it needs", () => {
    const verdict = clicked(slackClick("act_1"))
    assert(verdict._tag === "Accepted")
    for (const word of ["verification-token", "what the card says", "trigger"])
      assert.notInclude(verdict.inbound.body, word)
  })
})
