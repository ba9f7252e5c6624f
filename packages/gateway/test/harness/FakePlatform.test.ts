import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { feishu } from "../../src/feishu/Feishu.ts"
import { headerMillis } from "../../src/feishu/Verification.ts"
import { type Verification, sameInAllLanguages } from "../../src/platform/ChatPlatform.ts"
import { configOf, openBot } from "../feishu/Bot.ts"
import { KEY } from "@corral/testing/gateway/FakeFeishu"

const card = (title: string) => ({
  title: sameInAllLanguages(title),
  tone: "attention" as const,
  lines: [],
  buttons: [
    {
      _tag: "Action" as const,
      label: { en: "Approve", zh: "批准" },
      actionId: "act_1",
      style: "primary" as const
    },
    { _tag: "Link" as const, label: sameInAllLanguages("Details"), url: "https://hub.example/runs/1" }
  ]
})

interface ReceivedRequest {
  readonly verdict: Verification
  readonly path: string
  readonly timestamp: string
}

/** A webhook that verifies requests and sends the given answer, by default 200 and `{}`. */
const openWebhook = Effect.gen(function* () {
  const { ada, bot, chat, fake } = yield* openBot()
  const { verify } = feishu(configOf(fake, { encryptKey: Redacted.make(KEY) }))
  const receivedRequests: Array<ReceivedRequest> = []
  const answers: Array<(response: ServerResponse) => void> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { headers, url: path = "" } = request
      const kind = path.endsWith("card-actions") ? "card-actions" : "events"
      const verdict = verify({ kind, headers, body: Buffer.concat(chunks), receivedAt: Date.now() })
      receivedRequests.push({ verdict, path, timestamp: String(headers["x-lark-request-timestamp"]) })
      const answer = answers.shift() ?? ((response) => response.end("{}"))
      answer(response)
    })
  })
  yield* Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
  fake.gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { ada, bot, chat, fake, came: receivedRequests, answers }
})

const refuse = (response: ServerResponse) => response.writeHead(503).end("{}")

describe("a fake Feishu", () => {
  it.live("brings an event encrypted and signed, again under its id until it is taken", () =>
    Effect.gen(function* () {
      const { ada, answers, came, chat, fake } = yield* openWebhook
      const first = (response: ServerResponse) => {
        fake.delivery.patienceMs = 500
        refuse(response)
      }
      answers.push(first, () => undefined)
      const message = fake.sendMessage(ada, chat, "hello")
      assert.isTrue(yield* Effect.promise(() => message.taken))
      assert.deepStrictEqual(
        fake.delivery.all.map(({ status }) => status),
        [503, undefined, 200]
      )
      for (const { path, timestamp, verdict } of came) {
        assert.strictEqual(path, "/integrations/feishu/events")
        assert.match(timestamp, /^\d{10}$/)
        const inbound = verdict._tag === "Accepted" ? verdict.inbound : undefined
        assert.deepInclude(inbound, { upstreamId: message.eventId, kind: "message", chatId: chat })
      }
    })
  )

  it.live("brings what another bot says, and what is said in another tenant", () =>
    Effect.gen(function* () {
      const { ada, bot, came, chat, fake } = yield* openWebhook
      yield* Effect.promise(() => fake.sendMessage("ou_other_bot", chat, "hello", { sender: "app" }).taken)
      yield* Effect.promise(() => fake.sendMessage(ada, chat, "hello", { tenant: "tenant_2" }).taken)
      const [other, stranger] = came.map(({ verdict }) => verdict)
      const inbound = other?._tag === "Accepted" ? other.inbound : undefined
      assert.isDefined(inbound)
      assert.isUndefined(inbound === undefined ? inbound : yield* bot.normalize(inbound))
      assert.deepInclude(stranger, { _tag: "Refused", code: "permission_denied" })
    })
  )

  it.live("signs at the time at which it tries", () =>
    Effect.gen(function* () {
      const { ada, answers, came, chat, fake } = yield* openWebhook
      answers.push((response) => {
        fake.passes(60_000)
        refuse(response)
      })
      yield* Effect.promise(() => fake.sendMessage(ada, chat, "hello").taken)
      const [first = 0, second = 0] = came.map(({ timestamp }) => headerMillis(timestamp))
      assert.isAtLeast(second - first, 60_000)
    })
  )

  it.live("brings a click once, with the time that Go prints, and shows its answer", () =>
    Effect.gen(function* () {
      const { ada, answers, bot, came, chat, fake } = yield* openWebhook
      const place = { _tag: "Chat", chatId: chat } as const
      const { messageId } = yield* bot.send(place, { _tag: "Card", card: card("May it?") }, "k1")
      answers.push(refuse)
      assert.strictEqual((yield* Effect.promise(() => fake.clicks(ada, messageId, "Approve"))).status, 503)
      answers.push((response) => response.end(JSON.stringify({ toast: { type: "info", content: "Done" } })))
      const { eventId, status, toast } = yield* Effect.promise(() => fake.clicks(ada, messageId, "批准"))
      assert.deepStrictEqual({ status, toast }, { status: 200, toast: { type: "info", content: "Done" } })
      assert.strictEqual(came.length, 2)
      const [, last] = came
      assert.match(last?.timestamp ?? "", / \+0800 CST m=/)
      const inbound = last?.verdict._tag === "Accepted" ? last.verdict.inbound : undefined
      const draft = inbound === undefined ? undefined : yield* bot.normalize(inbound)
      assert.strictEqual(inbound?.upstreamId, eventId)
      assert.deepInclude(draft?.payload, { chatId: chat, messageId, actionId: "act_1", operatorId: ada })
      for (const button of ["Details", "Nothing"]) {
        const failure = yield* Effect.flip(Effect.tryPromise(() => fake.clicks(ada, messageId, button)))
        assert.include(String(failure.cause), button)
      }
    })
  )

  it.live("undoes what is done to a card before the click on it was answered, and nothing later", () =>
    Effect.gen(function* () {
      const { ada, answers, bot, chat, fake } = yield* openWebhook
      const place = { _tag: "Chat", chatId: chat } as const
      const sent = yield* bot.send(place, { _tag: "Card", card: card("May it?") }, "k1")
      const arrived = new Promise<ServerResponse>((resolve) => void answers.push(resolve))
      const clicked = fake.clicks(ada, sent.messageId, "Approve")
      const response = yield* Effect.promise(() => arrived)
      yield* bot.update(sent, card("Too early"))
      response.end("{}")
      yield* Effect.promise(() => clicked)
      assert.strictEqual(fake.shown(sent.messageId).title, "May it?")
      assert.strictEqual(fake.message(sent.messageId).undone, 1)
      yield* bot.update(sent, card("In time"))
      assert.strictEqual(fake.shown(sent.messageId).title, "In time")
      assert.strictEqual(fake.message(sent.messageId).undone, 1)
    })
  )

  it.live("shows a forwarded card's own message to who clicks on it", () =>
    Effect.gen(function* () {
      const { bot, came, chat, fake } = yield* openWebhook
      const bo = fake.person("ou_bo", "Bo")
      const place = { _tag: "Chat", chatId: chat } as const
      const { messageId } = yield* bot.send(place, { _tag: "Card", card: card("May it?") }, "k1")
      const copy = fake.forwards("ou_ada", messageId, fake.direct(bo))
      yield* Effect.promise(() => fake.clicks(bo, copy, 0))
      const verdict = came[0]?.verdict
      const inbound = verdict?._tag === "Accepted" ? verdict.inbound : undefined
      const draft = inbound === undefined ? undefined : yield* bot.normalize(inbound)
      assert.deepInclude(draft?.payload, { messageId: copy, operatorId: bo, actionId: "act_1" })
    })
  )

  it.live(
    "refuses more than five messages in a second, messages that are too long, and unknown recipients",
    () =>
      Effect.gen(function* () {
        const { chat, fake } = yield* openBot()
        const { messagesOfAll: messages } = fake
        const text = (words: string) => ({ msg_type: "text", content: JSON.stringify({ text: words }) })
        const codes = Array.from({ length: 6 }, () => messages.send(chat, text("x")).code)
        assert.deepStrictEqual(codes, [0, 0, 0, 0, 0, 230020])
        const team = fake.group("oc_team")
        assert.strictEqual(messages.send(team, text("x".repeat(160_000))).code, 230025)
        assert.strictEqual(messages.send(team, { msg_type: "interactive", content: "{}" }).code, 230099)
        assert.strictEqual(messages.send(messages.chatOf("chat_id", "oc_other"), text("x")).code, 230002)
        assert.strictEqual(messages.send(messages.chatOf("open_id", "ou_ada"), text("x")).code, 230020)
      })
  )

  it.live("knows a key for an hour", () =>
    Effect.gen(function* () {
      const { chat, fake } = yield* openBot()
      const send = () =>
        fake.messagesOfAll.send(chat, { msg_type: "text", content: `{"text":"x"}`, uuid: "k" })
      const first = send()
      fake.passes(59 * 60_000)
      assert.deepStrictEqual(send(), first)
      fake.passes(2 * 60_000)
      assert.notDeepEqual(send(), first)
      assert.strictEqual(fake.botMessages(chat).length, 2)
    })
  )
})
