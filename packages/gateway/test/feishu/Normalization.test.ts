import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { normalizeFeishuEvent } from "../../src/feishu/Normalization.ts"
import { type InboundKind, PlatformUnavailable } from "../../src/platform/ChatPlatform.ts"
import { BOT, click, feishuMessage } from "@corral/testing/gateway/FakeFeishu"

const inbound = (event: unknown, kind: InboundKind = "message") => ({
  platform: "feishu",
  app: "cli_1",
  tenant: "t_1",
  upstreamId: "ev_1",
  kind,
  chatId: "oc_1",
  senderId: "ou_ada",
  cardId: "",
  body: JSON.stringify(event),
  receivedAt: 0
})

const saying = (type: string, content: object, over: object = {}) =>
  feishuMessage("", "oc_1", { message_type: type, content: JSON.stringify(content), ...over })

const payloadOf = (event: unknown) =>
  Effect.map(normalizeFeishuEvent(inbound(event), Effect.succeed(BOT)), (draft) => draft?.payload)

const mentions = [
  { key: "@_user_1", name: "Corral", id: { open_id: BOT } },
  { key: "@_user_10", name: "Bo", id: { open_id: "ou_bo" } }
]

describe("normalize", () => {
  it.effect("reads text, and shows who else is mentioned", () =>
    Effect.gen(function* () {
      const event = saying(
        "text",
        { text: "@_user_1 ask @_user_10 \0\ud800" },
        { chat_type: "group", mentions }
      )
      assert.deepInclude(yield* payloadOf(event), { text: "ask @Bo \ufffd", chatType: "group" })
    })
  )

  it.effect("reads a post with its links and images", () =>
    Effect.gen(function* () {
      const content = [
        [
          { tag: "at", user_id: "@_user_1" },
          { tag: "text", text: " see " },
          { tag: "a", text: "this", href: "https://example.com" }
        ],
        [{ tag: "img", image_key: "img_1" }],
        "no line",
        [5, null]
      ]
      const payload = yield* payloadOf(saying("post", { title: "A plan", content }, { mentions }))
      assert.deepInclude(payload, {
        text: "A plan\n see this (https://example.com)",
        attachments: [{ kind: "image", key: "img_1" }]
      })
    })
  )

  it.effect("names images and files, and the thread", () =>
    Effect.gen(function* () {
      const image = yield* payloadOf(
        saying("image", { image_key: "img_1" }, { thread_id: "omt_1", root_id: "om_0" })
      )
      assert.deepInclude(image, {
        text: "",
        threadId: "omt_1",
        attachments: [{ kind: "image", key: "img_1" }]
      })
      const file = yield* payloadOf(
        saying("file", { file_key: "file_1", file_name: "a.txt" }, { root_id: "om_0" })
      )
      assert.deepInclude(file, {
        threadId: "om_0",
        attachments: [{ kind: "file", key: "file_1", name: "a.txt" }]
      })
    })
  )

  it.effect("hears nothing of bots, of groups that mention others, and of everyone being mentioned", () =>
    Effect.gen(function* () {
      const group = (over: object) => payloadOf(feishuMessage("x", "oc_1", { chat_type: "group", ...over }))
      assert.isUndefined(yield* group({}))
      assert.isUndefined(yield* group({ mentions: [{ key: "@_all", name: "all", id: { open_id: null } }] }))
      assert.isUndefined(
        yield* group({ mentions: [{ key: "@_user_1", name: "Corral", id: { open_id: "ou_b2" } }] })
      )
      const { sender, ...rest } = feishuMessage("x")
      assert.isUndefined(yield* payloadOf({ ...rest, sender: { ...sender, sender_type: "app" } }))
    })
  )

  it.effect("waits with a group's message until the bot knows its id, and not with a direct one", () =>
    Effect.gen(function* () {
      const unknown = Effect.fail(new PlatformUnavailable({ message: "later" }))
      const event = (chat_type: string) => inbound(feishuMessage("hi", "oc_1", { chat_type, mentions }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(normalizeFeishuEvent(event("group"), unknown))))
      assert.isDefined(yield* normalizeFeishuEvent(event("p2p"), unknown))
    })
  )

  it.effect("takes of a button what is ours, and nothing of another's", () =>
    Effect.gen(function* () {
      const action = (value: unknown) =>
        normalizeFeishuEvent(inbound(click(value), "card_action"), Effect.succeed(BOT))
      assert.deepInclude((yield* action({ a: "act_1" }))?.payload, {
        actionId: "act_1",
        operatorId: "ou_ada"
      })
      for (const value of [{}, { a: "" }, { a: 5 }, "act_1", { a: "x".repeat(200) }])
        assert.isUndefined(yield* action(value))
    })
  )

  it("normalizes or ignores every event without throwing", async () => {
    const kinds: ReadonlyArray<InboundKind> = ["message", "card_action"]
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue(),
        fc.jsonValue(),
        fc.constantFrom(...kinds),
        async (any, content, kind) => {
          const message = saying("post", { title: content, content: any }, { mentions })
          for (const event of [any, { ...feishuMessage("x"), message: any }, message]) {
            const exit = await Effect.runPromiseExit(
              normalizeFeishuEvent(inbound(event, kind), Effect.succeed(BOT))
            )
            if (Exit.isFailure(exit)) assert.include(String(exit.cause), "NotUnderstood")
          }
        }
      )
    )
  })
})
