import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Card, type MessageContent, sameInAllLanguages } from "../../src/platform/ChatPlatform.ts"
import { openBot } from "./Bot.ts"

const text = (words: string): MessageContent => ({ _tag: "Text", text: words })

const card: Card = {
  title: { en: "May it?", zh: "可以吗？" },
  tone: "attention",
  lines: [sameInAllLanguages("**no markdown** <at id=all></at>"), { en: "One file", zh: "一个文件" }],
  buttons: [
    { _tag: "Action", label: { en: "Approve", zh: "批准" }, actionId: "act_1", style: "primary" },
    { _tag: "Action", label: { en: "Deny", zh: "拒绝" }, actionId: "act_2", style: "danger" },
    { _tag: "Link", label: { en: "Details", zh: "详情" }, url: "https://hub.example/runs/1" }
  ]
}

/** Every element of a card that has a text. */
const tagsOfTexts = (value: unknown): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null) return []
  const inner = Object.values(value).flatMap(tagsOfTexts)
  return "content" in value ? [Reflect.get(value, "tag"), ...inner] : inner
}

describe("send", () => {
  it.live("says a text in a chat, to a person, and as an answer in a thread", () =>
    Effect.gen(function* () {
      const { ada, bot, chat, fake } = yield* openBot()
      const request = fake.sendMessage(ada, chat, "hello")
      const first = yield* bot.send({ _tag: "Chat", chatId: chat }, text("one"), "k1")
      const second = yield* bot.send({ _tag: "Person", userId: ada }, text("two"), "k2")
      yield* bot.send({ _tag: "Chat", chatId: chat, replyTo: request.id }, text("three"), "k3")
      const place = { _tag: "Chat", chatId: chat, replyTo: request.id, threadId: "omt_1" } as const
      yield* bot.send(place, text("four"), "k4")
      assert.strictEqual(first.chatId, chat)
      assert.strictEqual(second.chatId, chat)
      assert.deepStrictEqual(
        fake.botMessages(chat).map(({ content, replyTo, thread }) => ({ content, replyTo, thread })),
        [
          { content: { text: "one" }, replyTo: undefined, thread: undefined },
          { content: { text: "two" }, replyTo: undefined, thread: undefined },
          { content: { text: "three" }, replyTo: request.id, thread: undefined },
          { content: { text: "four" }, replyTo: request.id, thread: `omt_${request.id}` }
        ]
      )
      assert.strictEqual(fake.botMessages(chat)[0]?.id, first.messageId)
    })
  )

  it.live("mentions no one, styles nothing and keeps plain text", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const output = `<at user_id="all">x</at> <b>b</b> @_all @ou_bo [a](https://x) mail ada@example.com, 1 < 2\0`
      yield* bot.send({ _tag: "Chat", chatId: chat }, text(output), "k1")
      const [message] = fake.botMessages(chat)
      const shown = String(Reflect.get(Object(message?.content), "text"))
      assert.deepStrictEqual(message?.mentions, [])
      assert.notMatch(shown, /<[a-z/]|@_all|@ou|\]\(|\0/)
      assert.include(shown, "ada@example.com, 1 < 2")
      assert.strictEqual(shown.replaceAll("\u200b", ""), output.replace("\0", ""))
    })
  )

  it.live("says once what is said twice under one key, also when the first answer is lost", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const send = bot.send({ _tag: "Chat", chatId: chat }, text("once"), "key")
      fake.lose("send")
      assert.strictEqual((yield* Effect.flip(send))._tag, "PlatformUnavailable")
      const again = yield* send
      assert.deepStrictEqual(yield* send, again)
      assert.deepStrictEqual(
        fake.botMessages(chat).map(({ id }) => id),
        [again.messageId]
      )
    })
  )

  it.live("draws a card in each language, of plain texts and opaque values", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const { messageId } = yield* bot.send({ _tag: "Chat", chatId: chat }, { _tag: "Card", card }, "k1")
      assert.deepStrictEqual(fake.shown(messageId), {
        title: "May it?",
        template: "orange",
        lines: ["**no markdown** <at id=all></at>", "One file"],
        buttons: [
          { label: "Approve", value: { a: "act_1" } },
          { label: "Deny", value: { a: "act_2" } },
          { label: "Details", url: "https://hub.example/runs/1" }
        ]
      })
      assert.deepInclude(fake.shown(messageId, "zh_cn"), { title: "可以吗？" })
      const tags = tagsOfTexts(fake.message(messageId).content)
      assert.deepStrictEqual(new Set(tags), new Set(["plain_text"]))
      assert.strictEqual(tags.length, 6)
    })
  )

  it.live("takes the longest text there may be, in any script", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      for (const [at, each] of ["\u0001", "行", "\u{1f600}", '"', "@x "].entries()) {
        const long = each.repeat(bot.limits.textMax).slice(0, bot.limits.textMax)
        yield* bot.send({ _tag: "Chat", chatId: chat }, text(long), `k${at}`)
      }
      assert.strictEqual(fake.botMessages(chat).length, 5)
    })
  )

  it.live("lets a burst wait, each chat for itself, so that none is refused", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const other = fake.group("oc_team")
      yield* Effect.forEach(
        Array.from({ length: 12 }, (_, at) => at),
        (at) => bot.send({ _tag: "Chat", chatId: chat }, text(`${at}`), `k${at}`),
        { concurrency: "unbounded" }
      ).pipe(Effect.zip(bot.send({ _tag: "Chat", chatId: other }, text("now"), "o1"), { concurrent: true }))
      assert.isTrue(fake.calls("send").every(({ code }) => code === 0))
      assert.strictEqual(fake.botMessages(chat).length, 12)
      const sends = fake.calls("send").map(({ body }) => body["receive_id"])
      assert.isBelow(sends.indexOf(other), 6)
    })
  )
})

describe("update", () => {
  it.live("puts a card in the place of another", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const sent = yield* bot.send({ _tag: "Chat", chatId: chat }, { _tag: "Card", card }, "k1")
      const done: Card = { title: sameInAllLanguages("Done"), tone: "good", lines: [], buttons: [] }
      yield* bot.update(sent, done)
      assert.deepStrictEqual(fake.shown(sent.messageId), {
        title: "Done",
        template: "green",
        lines: [],
        buttons: []
      })
      assert.strictEqual(fake.message(sent.messageId).changes, 1)
    })
  )

  it.live("waits where a message was changed too often in a second, and is refused after 14 days", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const sent = yield* bot.send({ _tag: "Chat", chatId: chat }, { _tag: "Card", card }, "k1")
      const changes = Array.from({ length: 7 }, () => bot.update(sent, card))
      yield* Effect.all(changes, { concurrency: "unbounded" })
      assert.strictEqual(fake.message(sent.messageId).changes, 7)
      fake.passes(15 * 24 * 3_600_000)
      assert.deepInclude(yield* Effect.flip(bot.update(sent, card)), {
        _tag: "NotSent",
        message: "The platform refused the call (230031)."
      })
    })
  )
})
