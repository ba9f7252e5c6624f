/** What is said on Slack, with the platform's own client against a Slack of ours. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import {
  type Card,
  type ChatPlatform,
  type Destination,
  type Inbound,
  sameInAllLanguages
} from "../../src/platform/ChatPlatform.ts"
import { slack } from "../../src/slack/Slack.ts"
import {
  ADA,
  BOT_TOKEN,
  CHANNEL,
  FakeSlack,
  mention,
  SLACK_APP,
  SLACK_SECRET,
  slackClick,
  type SlackFault,
  TEAM
} from "@corral/testing/gateway/FakeSlack"

const inChannel: Destination = { _tag: "Chat", chatId: CHANNEL }
const words = "the words of a text"
const card: Card = {
  title: sameInAllLanguages("A run"),
  tone: "running",
  lines: [sameInAllLanguages("It continues.")],
  buttons: [
    { _tag: "Action", label: sameInAllLanguages("Allow"), actionId: "act_1", style: "primary" },
    { _tag: "Link", label: sameInAllLanguages("Open"), url: "https://hub.example/runs/1" }
  ]
}

let fake: FakeSlack
let platform: ChatPlatform
beforeEach(async () => {
  fake = await FakeSlack.start()
  platform = on({})
})
afterEach(() => fake.stop())

const on = (over: object): ChatPlatform =>
  slack({
    appId: SLACK_APP,
    signingSecret: Redacted.make(SLACK_SECRET),
    botToken: Redacted.make(BOT_TOKEN),
    domain: fake.url,
    teams: [],
    language: "en",
    ...over
  })

const send = (text: string, place: Destination = inChannel) =>
  platform.send(place, { _tag: "Text", text }, "key-1")

const inbound = (event: unknown, kind: Inbound["kind"]): Inbound => ({
  platform: "slack",
  app: SLACK_APP,
  tenant: TEAM,
  upstreamId: "Ev1",
  kind,
  chatId: CHANNEL,
  senderId: "ou_ada",
  cardId: "",
  body: JSON.stringify(event),
  receivedAt: 0
})

describe("what is said on Slack", () => {
  it.effect("is plain text", () =>
    Effect.gen(function* () {
      const sent = yield* send("<!channel> a & b @here *not bold*")
      const { parameters, text } = fake.message(sent.messageId)
      assert.strictEqual(text, "&lt;!channel&gt; a &amp; b @here *not bold*")
      assert.deepInclude(parameters, {
        mrkdwn: "false",
        parse: "none",
        link_names: "false",
        unfurl_links: "false",
        unfurl_media: "false"
      })
      assert.strictEqual(sent.chatId, CHANNEL)
    })
  )

  it.effect("answers in the thread of what it answers", () =>
    Effect.gen(function* () {
      const threadOf = (place: Destination) =>
        Effect.map(send("x", place), ({ messageId }) => fake.message(messageId).thread)
      assert.isUndefined(yield* threadOf(inChannel))
      assert.strictEqual(yield* threadOf({ ...inChannel, replyTo: "1.1" }), "1.1")
      assert.strictEqual(yield* threadOf({ ...inChannel, replyTo: "1.2", threadId: "1.1" }), "1.1")
    })
  )

  it.effect("reaches a person in their own chat", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* send("x", { _tag: "Person", userId: "U0BO" })).chatId, "D0BO")
    })
  )

  it.effect("is a card, which another one takes the place of", () =>
    Effect.gen(function* () {
      const sent = yield* platform.send(inChannel, { _tag: "Card", card }, "key-1")
      const rendered = () => fake.message(sent.messageId).blocks.map(({ type }) => type)
      assert.deepStrictEqual(rendered(), ["header", "section", "actions"])
      yield* platform.update(sent, { ...card, tone: "good", buttons: [] })
      assert.deepStrictEqual(rendered(), ["header", "section"])
      assert.include(fake.message(sent.messageId).blocks[0]?.text?.text, "✅")
      const failure = yield* Effect.flip(platform.update({ ...sent, messageId: "0.1" }, card))
      assert.deepInclude(failure, { _tag: "NotSent", message: "Slack refused: message_not_found." })
    })
  )

  it.effect("brings back a click on a card's button, and none on its link", () =>
    Effect.gen(function* () {
      const { messageId } = yield* platform.send(inChannel, { _tag: "Card", card }, "key-1")
      const drafts = [0, 1].map((at) => {
        const sent = fake.clickOn(messageId, at)
        const verdict = platform.verify({ kind: "card-actions", ...sent, receivedAt: Date.now() })
        assert(verdict._tag === "Accepted")
        return platform.normalize(verdict.inbound)
      })
      const [action, link] = yield* Effect.all(drafts)
      assert.deepInclude(action?.payload, { actionId: "act_1", messageId, chatId: CHANNEL })
      assert.isUndefined(link)
    })
  )
})

describe("what goes wrong there", () => {
  const rateLimited: SlackFault = { status: 429, headers: { "retry-after": "1800" } }
  const page: SlackFault = { status: 200, body: `<html>${BOT_TOKEN} proxy</html>` }
  const faults: ReadonlyArray<readonly [string, SlackFault, string]> = [
    ["a rate limit", rateLimited, "PlatformUnavailable"],
    ["a rate limit without a time", { status: 429 }, "PlatformUnavailable"],
    ["an error of the server", { status: 503, body: BOT_TOKEN }, "PlatformUnavailable"],
    ["a lost connection", "drop", "PlatformUnavailable"],
    ["a page of a proxy", page, "PlatformUnavailable"],
    ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" } }, "PlatformUnavailable"],
    ["an answer of another shape", { status: 200, body: `{"ok":true}` }, "PlatformUnavailable"],
    [
      "a passing error",
      { status: 200, body: `{"ok":false,"error":"internal_error"}` },
      "PlatformUnavailable"
    ],
    ["a refusal", { status: 200, body: `{"ok":false,"error":"not_in_channel"}` }, "NotSent"],
    ["a status of ours", { status: 400, body: BOT_TOKEN }, "NotSent"]
  ]

  it.effect.each(faults)("%s is said at once, without a word of what was sent", ([, fault, tag]) =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const methods = ["debug", "log", "info", "warn", "error"] as const
      const spies = methods.map((method) =>
        vi.spyOn(console, method).mockImplementation((...text) => void written.push(text.join(" ")))
      )
      fake.fail("chat.postMessage", fault)
      const failed = yield* Effect.flip(send(words)).pipe(
        Effect.ensuring(Effect.sync(() => spies.forEach((spy) => spy.mockRestore())))
      )
      // The client has its own logger.
      assert.deepStrictEqual(written, [])
      assert.strictEqual(failed._tag, tag)
      assert.strictEqual(fake.count("chat.postMessage"), 1)
      for (const text of [String(failed), JSON.stringify(failed), failed.stack ?? ""])
        for (const secret of [BOT_TOKEN, words, SLACK_SECRET]) assert.notInclude(text, secret)
      // The next one goes as if nothing had been: no queue of the client's waits for a limit to end.
      if (fault !== rateLimited) yield* send(words)
    })
  )

  it.effect("a rate limit holds calls of its method back for the time that Slack says, and no others", () =>
    Effect.gen(function* () {
      fake.fail("chat.postMessage", rateLimited)
      assert.deepInclude(yield* Effect.flip(send(words)), { retryAfterMs: 1_800_000 })
      yield* TestClock.adjust("10 minutes")
      const held = yield* Effect.flip(send(words))
      assert.deepInclude(held, { _tag: "PlatformUnavailable", retryAfterMs: 1_200_000 })
      assert.strictEqual(fake.count("chat.postMessage"), 1)
      yield* send("x", { _tag: "Person", userId: "U0BO" })
      yield* TestClock.adjust("20 minutes")
      yield* send(words)
      assert.strictEqual(fake.count("chat.postMessage"), 3)
    })
  )

  it.effect("a wrong token and none are said", () =>
    Effect.gen(function* () {
      platform = on({ botToken: Redacted.make("xoxb-another") })
      assert.strictEqual((yield* Effect.flip(send("x"))).message, "Slack refused: invalid_auth.")
      platform = on({ botToken: undefined })
      assert.deepInclude(yield* Effect.flip(send("x")), { _tag: "NotSent" })
    })
  )
})

describe("the profile of a user", () => {
  it.effect("has the language, and is empty when Slack has no data", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* platform.person(ADA), { name: "Ada", tenantName: "Acme", language: "zh" })
      assert.deepStrictEqual(yield* platform.person("U0BO"), {
        name: "Bo",
        tenantName: "Acme",
        language: "en"
      })
      assert.deepStrictEqual(yield* platform.person("U9"), {})
    })
  )

  it.effect("the bot asks once who it is, and again where it was not told", () =>
    Effect.gen(function* () {
      const received = platform.normalize(inbound(mention("x"), "message"))
      fake.fail("auth.test", { status: 500 })
      assert.strictEqual((yield* Effect.flip(received))._tag, "PlatformUnavailable")
      assert.deepInclude((yield* received)?.payload, { text: "x" })
      assert.deepInclude((yield* received)?.payload, { text: "x" })
      assert.strictEqual(fake.count("auth.test"), 2)
      yield* on({ botUserId: "U0BOT" }).normalize(inbound(mention("x"), "message"))
      assert.strictEqual(fake.count("auth.test"), 2)
    })
  )
})

describe("what only who clicked sees", () => {
  const sendEphemeral = (response_url: unknown, text = "a <b>") =>
    platform.sendEphemeral === undefined
      ? Effect.die("there is no whisper")
      : platform.sendEphemeral(inbound(slackClick("act_1", { response_url }), "card_action"), text)

  it.effect("goes to the address of the click, without a token, while that works", () =>
    Effect.gen(function* () {
      yield* sendEphemeral(`${fake.url}/actions/1`)
      assert.deepInclude(fake.ephemerals[0]?.body, {
        response_type: "ephemeral",
        replace_original: false,
        text: "a &lt;b&gt;"
      })
      yield* sendEphemeral(`${fake.url}/actions/1`).pipe(Effect.withSpan("test span"))
      assert.notProperty(fake.ephemerals[1]?.headers, "traceparent")
      fake.usesLeft = 0
      assert.strictEqual((yield* Effect.flip(sendEphemeral(`${fake.url}/actions/1`)))._tag, "NotSent")
      fake.fail("response_url", { status: 500 }, "drop")
      for (const _ of [1, 2])
        assert.strictEqual(
          (yield* Effect.flip(sendEphemeral(`${fake.url}/actions/1`)))._tag,
          "PlatformUnavailable"
        )
    })
  )

  it.effect("sends to Slack only, regardless of the address that a body names", () =>
    Effect.gen(function* () {
      const { host } = new URL(fake.url)
      const other = yield* Effect.acquireRelease(
        Effect.promise(() => FakeSlack.start()),
        (server) => Effect.promise(() => server.stop())
      )
      const addresses = [
        `${other.url}/actions/1`,
        `http://hooks.slack.com@${new URL(other.url).host}/`,
        `http://ada:x@${host}/actions/1`,
        `https://hooks.slack.com.example/`,
        `http://hooks.slack.com/`,
        "file:///etc/passwd",
        "no address",
        null,
        5
      ]
      for (const address of addresses) {
        const failed = yield* Effect.flip(sendEphemeral(address))
        assert.deepInclude(failed, { _tag: "NotSent" })
        assert.notInclude(failed.message, "actions")
      }
      fake.fail("response_url", { status: 307, headers: { location: `${other.url}/actions/1` } })
      assert.strictEqual((yield* Effect.flip(sendEphemeral(`${fake.url}/actions/1`)))._tag, "NotSent")
      assert.deepStrictEqual([other.calls, fake.ephemerals], [[], []])
    })
  )
})
