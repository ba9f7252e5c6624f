import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { inspect } from "node:util"
import { BotInfo, makeFeishuCall } from "../../src/feishu/FeishuApi.ts"
import { feishu } from "../../src/feishu/Feishu.ts"
import type { MessageContent } from "../../src/platform/ChatPlatform.ts"
import { SECRET, type FakePlatform } from "@corral/testing/gateway/FakePlatform"
import { configOf, openBot, watchOutput } from "./Bot.ts"

const WORDS = "private words"
const content: MessageContent = { _tag: "Text", text: WORDS }

/** What happens to a message, and what the bot says of it. */
const failures: ReadonlyArray<
  readonly [what: string, meets: (fake: FakePlatform) => void, tag: string, message: string]
> = [
  ["a broken connection", (f) => f.lose("send"), "PlatformUnavailable", "does not answer"],
  ["a broken connection at the token", (f) => f.lose("token"), "PlatformUnavailable", "does not answer"],
  ["500", (f) => f.fail("send", { status: 500 }), "PlatformUnavailable", "answers 500"],
  ["503 at the token", (f) => f.fail("token", { status: 503 }), "PlatformUnavailable", "answers 503"],
  ["429", (f) => f.fail("send", { status: 429 }), "PlatformUnavailable", "answers 429"],
  ["another place", (f) => f.fail("send", { status: 302 }), "PlatformUnavailable", "answers 302"],
  ["too much in a chat", (f) => f.fail("send", { code: 230020 }), "PlatformUnavailable", "(230020)"],
  ["too much of an app", (f) => f.fail("send", { code: 99991400 }), "PlatformUnavailable", "(99991400)"],
  ["no such chat", (f) => f.fail("send", { code: 230002 }), "NotSent", "(230002)"],
  ["a bad request", (f) => f.fail("send", { code: 230001 }), "NotSent", "(230001)"],
  ["a code under 200", (f) => f.fail("send", { code: 230099, status: 200 }), "NotSent", "(230099)"],
  ["no word of why", (f) => f.fail("send", { code: 0, status: 404 }), "NotSent", "(404)"],
  [
    "a secret that is wrong",
    (f) => f.fail("token", { code: 10014, status: 200 }),
    "PlatformUnavailable",
    "(10014)"
  ],
  [
    "an answer without a message",
    (f) => f.fail("send", { code: 0, status: 200 }),
    "PlatformUnavailable",
    "be read"
  ],
  [
    "a token that is never taken",
    (f) => f.fail("send", { code: 99991663, times: 2 }),
    "PlatformUnavailable",
    "its own token"
  ]
]

describe("a failure", () => {
  it.live.each(failures)("at %s has its own error, without a secret", ([, meets, tag, message]) =>
    Effect.gen(function* () {
      const output = yield* watchOutput
      const { bot, chat, fake } = yield* openBot()
      meets(fake)
      const failure = yield* Effect.flip(bot.send({ _tag: "Chat", chatId: chat }, content, "k1"))
      assert.strictEqual(failure._tag, tag)
      assert.include(failure.message, message)
      assert.isAbove(fake.calls().length, 0)
      const received = [
        output(),
        inspect(failure, { depth: null, showHidden: true }),
        failure.stack,
        String(failure)
      ]
      for (const secret of [SECRET, WORDS, "t-fake-token", "Bearer"])
        for (const text of received) assert.notInclude(text, secret)
    })
  )

  it.live("is not waited for longer than a while, at the token and at the message", () =>
    Effect.gen(function* () {
      const { fake } = yield* openBot()
      const call = makeFeishuCall(configOf(fake), 200)
      const ask = call(BotInfo, (client) => client.request({ method: "GET", url: "/open-apis/bot/v3/info" }))
      for (const api of ["token", "bot"] as const) {
        fake.hang(api)
        assert.strictEqual((yield* Effect.flip(ask)).message, "The platform does not answer.")
      }
      yield* ask
    })
  )

  it.live("reports an address without a server, or with another server", () =>
    Effect.gen(function* () {
      const { fake } = yield* openBot()
      const other = createServer((_, response) => response.end("<html>hello</html>"))
      yield* Effect.promise(() => new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve)))
      yield* Effect.addFinalizer(() => Effect.sync(() => other.close()))
      const { port } = other.address() as AddressInfo
      for (const domain of ["http://127.0.0.1:1", `http://127.0.0.1:${port}`]) {
        const bot = feishu(configOf(fake, { domain }))
        const failure = yield* Effect.flip(bot.send({ _tag: "Chat", chatId: "oc_1" }, content, "k1"))
        assert.strictEqual(failure._tag, "PlatformUnavailable")
      }
    })
  )
})

describe("the token", () => {
  it.live("is asked for once by all who need it first, and kept", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const send = (at: number) => bot.send({ _tag: "Chat", chatId: chat }, content, `k${at}`)
      yield* Effect.forEach([1, 2, 3, 4, 5], send, { concurrency: "unbounded" })
      yield* send(6)
      assert.strictEqual(fake.calls("token").length, 1)
      assert.strictEqual(fake.botMessages(chat).length, 6)
    })
  )

  it.live("is renewed once where it is taken no more, by all who met that", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      const send = (at: number) => bot.send({ _tag: "Chat", chatId: chat }, content, `k${at}`)
      yield* send(0)
      fake.api.revokeTokens()
      yield* Effect.forEach([1, 2, 3], send, { concurrency: "unbounded" })
      assert.strictEqual(fake.calls("token").length, 2)
      assert.strictEqual(fake.botMessages(chat).length, 4)
    })
  )

  it.live("is asked for again after it was refused", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      fake.fail("token", { status: 500 })
      const send = bot.send({ _tag: "Chat", chatId: chat }, content, "k1")
      yield* Effect.flip(send)
      yield* send
    })
  )

  it.live("is another bot's own", () =>
    Effect.gen(function* () {
      const { bot, chat, fake } = yield* openBot()
      yield* bot.send({ _tag: "Chat", chatId: chat }, content, "k1")
      const wrong = feishu(configOf(fake, { appSecret: Redacted.make("another secret") }))
      const failure = yield* Effect.flip(wrong.send({ _tag: "Chat", chatId: chat }, content, "k2"))
      assert.include(failure.message, "(10014)")
    })
  )
})
