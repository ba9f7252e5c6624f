import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { feishu } from "../../src/feishu/Feishu.ts"
import { APP, BOT, envelope, feishuMessage, TENANT } from "@corral/testing/gateway/FakeFeishu"
import { configOf, openBot, openFake } from "./Bot.ts"

const mention = {
  platform: "feishu",
  app: APP,
  tenant: TENANT,
  upstreamId: "ev_1",
  kind: "message",
  chatId: "oc_team",
  senderId: "ou_ada",
  cardId: "",
  body: JSON.stringify(
    envelope(
      {},
      feishuMessage("@_user_1 hello", "oc_team", {
        chat_type: "group",
        mentions: [{ key: "@_user_1", name: "Corral", id: { open_id: BOT } }]
      })
    ).event
  ),
  receivedAt: 0
} as const

describe("the bot", () => {
  it.live("asks who it is until it knows, and then no more", () =>
    Effect.gen(function* () {
      const { bot, fake } = yield* openBot()
      fake.fail("bot", { status: 500 })
      assert.strictEqual((yield* Effect.flip(bot.normalize(mention)))._tag, "PlatformUnavailable")
      const drafts = yield* Effect.all([bot.normalize(mention), bot.normalize(mention)], {
        concurrency: "unbounded"
      })
      for (const draft of drafts) assert.deepInclude(draft?.payload, { text: "hello" })
      assert.strictEqual(fake.calls("bot").length, 2)
    })
  )

  it.live("does not ask the platform when the id is configured", () =>
    Effect.gen(function* () {
      const { bot, fake } = yield* openBot({ botId: BOT })
      assert.isDefined(yield* bot.normalize(mention))
      assert.deepStrictEqual(fake.calls(), [])
    })
  )

  it.live("only listens without a secret", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot({ appSecret: undefined })
      const failure = yield* Effect.flip(
        bot.send({ _tag: "Chat", chatId: chat }, { _tag: "Text", text: "x" }, "k1")
      )
      assert.strictEqual(failure._tag, "NotSent")
      assert.include(failure.message, "app secret")
      assert.strictEqual((yield* Effect.flip(bot.normalize(mention)))._tag, "PlatformUnavailable")
      assert.deepStrictEqual(yield* bot.person("ou_ada"), {})
      assert.deepStrictEqual(fake.calls(), [])
    })
  )

  it.live("speaks Chinese on Feishu and English on Lark", () =>
    Effect.gen(function* () {
      const fake = yield* openFake
      const languages = ["https://open.feishu.cn", "https://open.larksuite.com"].map(
        (domain) => feishu(configOf(fake, { domain })).language
      )
      assert.deepStrictEqual(languages, ["zh", "en"])
    })
  )
})

describe("person", () => {
  it.live("has the name that the platform tells, and is not asked for again", () =>
    Effect.gen(function* () {
      const { ada, bot, fake } = yield* openBot()
      for (let n = 0; n < 3; n++)
        assert.deepStrictEqual(yield* bot.person(ada), { name: "Ada", tenantName: "Analytical Engines" })
      assert.strictEqual(fake.calls("user").length, 1)
      assert.strictEqual(fake.calls("tenant").length, 1)
    })
  )

  it.live("is empty when the platform has no data", () =>
    Effect.gen(function* () {
      const { ada, bot, fake } = yield* openBot()
      fake.api.readsPeople = false
      fake.fail("tenant", { status: 500 })
      assert.deepStrictEqual(yield* bot.person(ada), {})
      assert.deepStrictEqual(yield* bot.person("../../x?y"), { tenantName: "Analytical Engines" })
    })
  )
})
