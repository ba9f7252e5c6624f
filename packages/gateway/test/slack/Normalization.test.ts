import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { type InboundKind, PlatformUnavailable } from "../../src/platform/ChatPlatform.ts"
import { escapeMarkup, removeMarkup } from "../../src/slack/Payload.ts"
import { normalizeSlackEvent } from "../../src/slack/Normalization.ts"
import { ADA, SLACK_BOT, CHANNEL, slackClick, direct, mention, TEAM } from "@corral/testing/gateway/FakeSlack"

const inbound = (event: unknown, kind: InboundKind = "message") => ({
  platform: "slack",
  app: "A1",
  tenant: TEAM,
  upstreamId: "Ev1",
  kind,
  chatId: CHANNEL,
  senderId: "ou_ada",
  cardId: "",
  body: JSON.stringify(event),
  receivedAt: 0
})

const payloadOf = (event: unknown, kind: InboundKind = "message") =>
  Effect.map(normalizeSlackEvent(inbound(event, kind), Effect.succeed(SLACK_BOT)), (draft) => draft?.payload)

describe("normalize", () => {
  it.effect("reads a direct message, its thread and its files", () =>
    Effect.gen(function* () {
      const files = [
        { id: "F1", name: "a.png", mimetype: "image/png" },
        { id: "F2", name: null, mimetype: "audio/mp4" },
        { id: "F3" }
      ]
      assert.deepStrictEqual(yield* payloadOf(direct("hi \0\ud800", { thread_ts: "1.2", files })), {
        platform: "slack",
        app: "A1",
        tenant: TEAM,
        upstreamEventId: "Ev1",
        chatId: "D0ADA",
        chatType: "direct",
        threadId: "1.2",
        rootId: "1.2",
        messageId: "1790000000.000100",
        senderId: ADA,
        text: "hi \ufffd",
        attachments: [
          { kind: "image", key: "F1", name: "a.png" },
          { kind: "audio", key: "F2" },
          { kind: "file", key: "F3" }
        ]
      })
    })
  )

  it.effect("reads a mention without the bot's own name", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* payloadOf(mention("status, <@U0BO|bo>")), {
        chatType: "group",
        chatId: CHANNEL,
        text: "status, @bo"
      })
    })
  )

  it.effect("waits with a mention until the bot knows its id, and not with a direct message", () =>
    Effect.gen(function* () {
      const unknown = Effect.fail(new PlatformUnavailable({ message: "later" }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(normalizeSlackEvent(inbound(mention("x")), unknown))))
      assert.isDefined(yield* normalizeSlackEvent(inbound(direct("x")), unknown))
    })
  )

  it.effect("hears nothing of itself, nor of another workspace's people", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* payloadOf(direct("x", { user: SLACK_BOT })))
      for (const over of [{ team: "T2" }, { user_team: "T2" }, { source_team: "T2" }])
        assert.isUndefined(yield* payloadOf(mention("x", over)))
      const foreign = slackClick("act_1", { user: { id: ADA, team_id: "T2" } })
      assert.isUndefined(yield* payloadOf(foreign, "card_action"))
    })
  )

  it.effect("takes a button's id, and nothing of one that opens an address", () =>
    Effect.gen(function* () {
      const payload = yield* payloadOf(slackClick("act_1"), "card_action")
      assert.deepInclude(payload, {
        actionId: "act_1",
        operatorId: ADA,
        chatId: CHANNEL,
        messageId: "1790000000.000300"
      })
      for (const value of [undefined, "", 5, {}, "x".repeat(200)])
        assert.isUndefined(yield* payloadOf(slackClick(value), "card_action"))
    })
  )

  it("normalizes or ignores every event without throwing", async () => {
    const kinds: ReadonlyArray<InboundKind> = ["message", "card_action"]
    const held = fc.dictionary(fc.string(), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), held, fc.constantFrom(...kinds), async (any, over, kind) => {
        for (const event of [any, direct("x", over), mention("x", { files: any }), slackClick(any, over)]) {
          const exit = await Effect.runPromiseExit(
            normalizeSlackEvent(inbound(event, kind), Effect.succeed(SLACK_BOT))
          )
          if (Exit.isFailure(exit)) assert.include(String(exit.cause), "NotUnderstood")
        }
      })
    )
  })
})

describe("removeMarkup", () => {
  it.each([
    [`<@${SLACK_BOT}> start`, "start"],
    ["ask <@U0BO>", "ask @U0BO"],
    ["in <#C1|team> and <#C2|> and <#C3>", "in #team and #C2 and #C3"],
    ["see <https://example.com/?a=1&amp;b=2|this>", "see this (https://example.com/?a=1&b=2)"],
    ["see <https://example.com>", "see https://example.com"],
    ["to <mailto:ada@example.com|ada@example.com>", "to ada@example.com"],
    ["<!here> <!subteam^S1|@ops>", "@here @ops"],
    ["a &lt;b&gt; &amp;lt; c", "a <b> &lt; c"],
    ["a &nbsp; < b", "a &nbsp; < b"]
  ])("%s", (text, plain) => assert.strictEqual(removeMarkup(text, SLACK_BOT), plain))

  it("gives back what was escaped", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("<", ">", "&", "@", "!", "|", "amp;", "a", " ") }),
        (text) => {
          assert.strictEqual(removeMarkup(escapeMarkup(text), SLACK_BOT), text.trim())
          assert.notMatch(escapeMarkup(text), /[<>]/)
        }
      )
    )
  })
})
