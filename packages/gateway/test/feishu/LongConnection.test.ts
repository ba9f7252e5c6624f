import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { makeLongConnection } from "../../src/feishu/LongConnection.ts"
import { feishu } from "../../src/feishu/Feishu.ts"
import { type Inbound, type StoreInbound, PlatformUnavailable } from "../../src/platform/ChatPlatform.ts"
import { within } from "@corral/testing/time/Until"
import { APP, BOT, envelope, feishuMessage, pushedMessage, TENANT } from "@corral/testing/gateway/FakeFeishu"
import { SECRET } from "@corral/testing/gateway/FakePlatform"
import { configOf, openFake, watchOutput } from "./Bot.ts"

const down = new PlatformUnavailable({ message: "The store is not there." })

/** A bot that is connected, and what it was given to keep; `refuses` of what comes next are not kept. */
const openConnected = Effect.gen(function* () {
  const fake = yield* openFake
  const bot = feishu(configOf(fake, { connection: "long", verificationToken: undefined }))
  const store = { kept: [] as Array<Inbound>, refuses: 0 }
  const ingest: StoreInbound = (inbound) =>
    Effect.suspend(() => {
      if (store.refuses-- > 0) return Effect.fail(down)
      store.kept.push(inbound)
      return Effect.void
    })
  if (bot.connect === undefined) return yield* Effect.die("it makes no connection")
  yield* bot.connect(ingest)
  const ada = fake.person("ou_ada", "Ada")
  return { fake, bot, store, ada, chat: fake.direct(ada) }
})

const card = {
  schema: "2.0",
  config: { update_multi: true },
  body: {
    elements: [
      {
        tag: "button",
        text: { tag: "plain_text", content: "Approve" },
        behaviors: [{ type: "callback", value: { a: "act_1" } }]
      }
    ]
  }
}

describe("a long connection", () => {
  it.live("brings messages, whole or in pieces, as they are understood by webhook", () =>
    Effect.gen(function* () {
      const { ada, bot, fake, store } = yield* openConnected
      const team = fake.group("oc_team")
      const message = fake.sendMessage(ada, team, "run the tests 🙂", { mentions: [BOT] })
      assert.isTrue(yield* Effect.promise(() => message.taken))
      fake.connection.pieces = 7
      const more = fake.sendMessage(ada, team, "and these 🙂", { mentions: [BOT] })
      assert.isTrue(yield* Effect.promise(() => more.taken))
      assert.deepStrictEqual(
        store.kept.map(({ body, receivedAt, ...rest }) => ({
          ...rest,
          dated: receivedAt > 0,
          told: body !== ""
        })),
        [message, more].map(({ eventId }) => ({
          platform: "feishu",
          app: APP,
          tenant: TENANT,
          upstreamId: eventId,
          senderId: ada,
          cardId: "",
          kind: "message",
          chatId: team,
          dated: true,
          told: true
        }))
      )
      const drafts = yield* Effect.forEach(store.kept, bot.normalize)
      assert.deepStrictEqual(
        drafts.map((draft) => Reflect.get(draft?.payload ?? {}, "text")),
        ["run the tests 🙂", "and these 🙂"]
      )
      assert.deepStrictEqual(new Set(fake.delivery.all.map(({ over }) => over)), new Set(["connection"]))
    })
  )

  it.live("acknowledges what is kept and nothing else: a message comes again under its id", () =>
    Effect.gen(function* () {
      const { ada, chat, fake, store } = yield* openConnected
      store.refuses = 2
      const message = fake.sendMessage(ada, chat, "hello")
      assert.isTrue(yield* Effect.promise(() => message.taken))
      assert.deepStrictEqual(
        fake.delivery.all.map(({ eventId, status }) => ({ eventId, status })),
        [500, 500, 200].map((status) => ({ eventId: message.eventId, status }))
      )
      assert.strictEqual(store.kept.length, 1)
    })
  )

  it.live("gives a message twice that comes twice: the inbox knows it", () =>
    Effect.gen(function* () {
      const { ada, chat, fake, store } = yield* openConnected
      for (const text of ["one", "again"])
        yield* Effect.promise(() => fake.sendMessage(ada, chat, text, { eventId: "ev_same" }).taken)
      assert.deepStrictEqual(
        store.kept.map(({ upstreamId }) => upstreamId),
        ["ev_same", "ev_same"]
      )
    })
  )

  it.live("brings clicks, and tells who clicked where one could not be kept", () =>
    Effect.gen(function* () {
      const { ada, bot, chat, fake, store } = yield* openConnected
      const { id } = fake.messagesOfAll.add({ chat, by: "bot", type: "interactive", content: card })
      const click = yield* Effect.promise(() => fake.clicks(ada, id, "Approve"))
      assert.deepInclude(click, { status: 200, toast: undefined, body: {} })
      const [inbound] = store.kept
      assert.deepInclude(inbound, { kind: "card_action", chatId: chat })
      const draft = inbound === undefined ? undefined : yield* bot.normalize(inbound)
      assert.deepInclude(draft?.payload, { actionId: "act_1", operatorId: ada, messageId: id })
      store.refuses = 1
      const refused = yield* Effect.promise(() => fake.clicks(ada, id, 0))
      assert.deepInclude(refused, { status: 200 })
      assert.strictEqual(refused.toast?.type, "error")
      assert.strictEqual(store.kept.length, 1)
    })
  )

  it.live("keeps nothing of another app, of another tenant, of other kinds, or of no event", () =>
    Effect.gen(function* () {
      const { fake, store } = yield* openConnected
      const events: ReadonlyArray<unknown> = [
        envelope({ app_id: "cli_other" }, feishuMessage("x")),
        envelope({ tenant_key: "tenant_2" }, feishuMessage("x")),
        envelope({ event_type: "im.chat.updated_v1" }, {}),
        { schema: "2.0", header: { event_id: 5 } },
        { type: "message", event: {} },
        []
      ]
      for (const event of events) {
        const { code } = yield* Effect.promise(() => fake.connection.send(event, 3_000))
        assert.strictEqual(code, 200)
      }
      assert.deepStrictEqual(store.kept, [])
    })
  )

  it.live("does not let the token of a click stand for another field of its envelope", () =>
    Effect.gen(function* () {
      const { fake, store } = yield* openConnected
      const event = { ...feishuMessage("x"), app_id: APP, tenant_key: TENANT, event_id: "ev_forged" }
      yield* Effect.promise(() => fake.connection.send(envelope({ app_id: "cli_other" }, event), 3_000))
      assert.deepStrictEqual(store.kept, [])
      yield* Effect.promise(() => fake.connection.send(envelope({ event_id: "ev_own" }, event), 3_000))
      assert.strictEqual(store.kept[0]?.upstreamId, "ev_own")
    })
  )

  it.live("is made again after a break, and what came meanwhile comes again", () =>
    Effect.gen(function* () {
      const { ada, chat, fake, store } = yield* openConnected
      fake.connection.drop()
      yield* Effect.promise(() => fake.until(() => fake.connection.connected === 0))
      const message = fake.sendMessage(ada, chat, "while no Gateway listens")
      assert.isTrue(yield* Effect.promise(() => message.taken))
      assert.strictEqual(fake.connection.connectionCount, 2)
      assert.strictEqual(store.kept.length, 1)
    })
  )

  it.live("reconnects when a ping is not answered", () =>
    Effect.gen(function* () {
      const fake = yield* openFake
      fake.connection.config = { ...fake.connection.config, PingInterval: 0.1 }
      const connect = makeLongConnection(
        "feishu",
        configOf(fake),
        { status: 200, body: {} },
        { pingTimeoutSeconds: 0.1 }
      )
      yield* connect(() => Effect.void)
      yield* Effect.promise(() => fake.until(() => fake.connection.pings > 2))
      assert.strictEqual(fake.connection.connectionCount, 1)
      fake.connection.answersPings = false
      yield* Effect.promise(() => fake.until(() => fake.connection.connectionCount > 1))
    })
  )

  it.live("retries when the platform refuses it, without logging a secret", () =>
    Effect.gen(function* () {
      const output = yield* watchOutput
      const fake = yield* openFake
      fake.fail("endpoint", { code: 1000040350, status: 200 })
      const bot = feishu(configOf(fake, { connection: "long" }))
      yield* bot.connect?.(() => Effect.fail(down)) ?? Effect.die("it makes no connection")
      assert.strictEqual(fake.calls("endpoint").length, 2)
      const ada = fake.person("ou_ada", "Ada")
      fake.sendMessage(ada, fake.direct(ada), "a private word")
      yield* Effect.promise(() => fake.until(() => fake.delivery.all.length > 1))
      assert.include(output(), "1000040350")
      for (const secret of [SECRET, "a private word", "ticket"]) assert.notInclude(output(), secret)
    })
  )

  it.live("is made by a bot that was told to, and by webhook nothing is taken without a token", () =>
    Effect.gen(function* () {
      const fake = yield* openFake
      assert.isUndefined(feishu(configOf(fake)).connect)
      const bot = feishu(
        configOf(fake, { connection: "long", appSecret: undefined, verificationToken: undefined })
      )
      const failure = yield* Effect.flip(bot.connect?.(() => Effect.void) ?? Effect.void)
      assert.include(failure.message, "app secret")
      const { body, headers } = pushedMessage("ev_1")
      const verdict = bot.verify({ kind: "events", body, headers, receivedAt: Date.now() })
      assert.deepInclude(verdict, { _tag: "Refused", code: "unauthorized" })
    }).pipe(Effect.scoped)
  )

  it.live("ends with its scope, for good, and keeps no process", () =>
    Effect.gen(function* () {
      const fake = yield* openFake
      const child = spawn(process.execPath, [fileURLToPath(new URL("Listener.ts", import.meta.url))], {
        stdio: ["pipe", "ignore", "inherit"],
        env: { PATH: process.env["PATH"], APP_ID: APP, APP_SECRET: SECRET, DOMAIN: fake.url }
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => child.kill("SIGKILL")))
      const exited = once(child, "exit")
      yield* Effect.promise(() => fake.until(() => fake.connection.connected === 1))
      child.stdin.end()
      const [code] = yield* Effect.promise(() => within(exited, 5_000, "the end"))
      assert.strictEqual(code, 0)
      assert.strictEqual(fake.connection.connectionCount, 1)
      yield* Effect.promise(() => fake.until(() => fake.connection.connected === 0))
    })
  )
})
