/**
 * Fake Feishu for one bot: a real server with all APIs that the bot uses. Fake users write in chats and click on cards. The Gateway receives
 * their events as from the platform, and tests read the messages of the bot.
 *
 * ```ts
 * const fake = await FakePlatform.open()
 * const ada = fake.person("ou_ada", "Ada")
 * const chat = fake.direct(ada)
 * fake.gateway = gateway.url // or: a Gateway makes a long connection to `fake.url`
 * await fake.says(ada, chat, "hello").taken
 * const card = await fake.until(() => fake.messages(chat).find(({ type }) => type === "interactive"))
 * const { toast } = await fake.clicks(ada, card.id, "Approve")
 * fake.fail("send", { times: 2, status: 500 })
 * ```
 *
 * Does not poll: `until` checks after each change. The rules of the platform use this machine's clock, shifted by `passes`. `ladder` scales
 * the intervals of retries.
 */
import { createServer, type Server } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { within } from "../time/Until.ts"
import { type Api, type ApiCall, FakeApi } from "./FakeApi.ts"
import {
  type FakeMessage,
  FakeMessages,
  type ShownCard,
  shownCardOf,
  type ShownLanguage,
  threadOf
} from "./FakeMessages.ts"
import { FakeDelivery, FakeSocket } from "./FakeDelivery.ts"
import { APP, BOT, envelope, TENANT } from "./FakeFeishu.ts"

export const SECRET = "an-app-secret"

export interface FakeOptions {
  /** What the platform's 15 s, 5 min, 1 h and 6 h are multiplied with. */
  readonly ladder?: number
}

export interface MessageOptions {
  /** Open ids, in the order in which they stand before the text; the bot's is `BOT`. */
  readonly mentions?: ReadonlyArray<string>
  /** The id of the message whose thread it is written in. */
  readonly thread?: string
  /** Of another kind than text. */
  readonly type?: string
  readonly content?: object
  readonly eventId?: string
  /** `app`: it is another bot that writes. */
  readonly sender?: "user" | "app"
  /** Of another tenant than the bot's. */
  readonly tenant?: string
}

export interface WrittenMessage {
  readonly id: string
  readonly eventId: string
  /** Whether the Gateway took it in the end. */
  readonly taken: Promise<boolean>
}

export interface DeliveredClick {
  readonly eventId: string
  /** 200, or what the person sees as an error. */
  readonly status: number | undefined
  readonly toast: { readonly type: string; readonly content: string } | undefined
  readonly body: unknown
}

export class FakePlatform {
  url = ""
  readonly messagesOfAll: FakeMessages
  readonly api: FakeApi
  readonly connection: FakeSocket
  readonly delivery: FakeDelivery
  private readonly people = new Map<string, string>()
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private readonly lookers = new Set<() => void>()
  private shift = 0
  private events = 0

  /** One that listens. */
  static async open(options: FakeOptions = {}): Promise<FakePlatform> {
    const fake = new FakePlatform(options)
    await new Promise<void>((resolve) => fake.server.listen(0, "127.0.0.1", resolve))
    fake.url = `http://127.0.0.1:${(fake.server.address() as AddressInfo).port}`
    return fake
  }

  private constructor({ ladder = 0.001 }: FakeOptions) {
    const changed = () => {
      for (const look of this.lookers) look()
    }
    const now = () => Date.now() + this.shift
    this.messagesOfAll = new FakeMessages(now, changed)
    this.connection = new FakeSocket(changed)
    this.delivery = new FakeDelivery(ladder, this.connection, now, changed)
    this.api = new FakeApi({
      appId: APP,
      secret: SECRET,
      botId: BOT,
      messages: this.messagesOfAll,
      people: this.people,
      tenantName: "Analytical Engines",
      endpoint: () => this.connection.endpoint(this.url),
      changed
    })
    this.server = createServer((request, response) => void this.api.answer(request, response))
    this.server.on("upgrade", (request, socket, head) => this.connection.upgrade(request, socket, head))
    this.server.on("connection", (socket) => {
      this.sockets.add(socket)
      socket.once("close", () => this.sockets.delete(socket))
    })
  }

  /** Adds a user of the tenant; returns the open id. */
  person(id: string, name: string): string {
    this.people.set(id, name)
    return id
  }

  /** The direct chat of a user with the bot. */
  direct(person: string): string {
    const chat = `oc_direct_${person}`
    this.messagesOfAll.chats.set(chat, person)
    return chat
  }

  /** A group that the bot is in. */
  group(chat: string): string {
    this.messagesOfAll.chats.set(chat, undefined)
    return chat
  }

  /** Address of the Gateway, for webhooks. */
  set gateway(url: string) {
    this.delivery.gateway = url
  }

  /** Messages of a chat, oldest first. */
  messages(chat: string): ReadonlyArray<FakeMessage> {
    return this.messagesOfAll.all.filter((message) => message.chat === chat)
  }

  /** What the bot said in a chat, oldest first. */
  botMessages(chat: string): ReadonlyArray<FakeMessage> {
    return this.messages(chat).filter(({ by }) => by === "bot")
  }

  /** A message that is there. */
  message(id: string): FakeMessage {
    const found = this.messagesOfAll.get(id)
    if (found === undefined) throw new Error(`there is no message ${id}`)
    return found
  }

  /** What a person sees of a card. */
  shown(id: string, language: ShownLanguage = "en_us"): ShownCard {
    return shownCardOf(this.message(id).content, language)
  }

  /** Calls of one kind, or all. */
  calls(api?: Api): ReadonlyArray<ApiCall> {
    return this.api.calls.filter((call) => api === undefined || call.api === api)
  }

  /** A user writes. */
  sendMessage(person: string, chat: string, text: string, options: MessageOptions = {}): WrittenMessage {
    const { mentions = [], sender = "user", tenant = TENANT, thread, type = "text" } = options
    const marks = mentions.map((_, at) => `@_user_${at + 1} `).join("")
    const content = options.content ?? { text: marks + text }
    const { id } = this.messagesOfAll.add({
      chat,
      by: person,
      type,
      content,
      replyTo: thread,
      thread: thread === undefined ? undefined : (this.message(thread).thread ?? threadOf(thread))
    })
    const created = this.message(id)
    const eventId = options.eventId ?? this.nextEvent()
    const event = envelope(
      { event_id: eventId, create_time: String(created.sentAt), tenant_key: tenant },
      {
        sender: { sender_id: this.idsOf(person), sender_type: sender, tenant_key: tenant },
        message: {
          message_id: id,
          ...(thread === undefined ? {} : { root_id: thread, parent_id: thread, thread_id: created.thread }),
          create_time: String(created.sentAt),
          chat_id: chat,
          chat_type: this.messagesOfAll.chats.get(chat) === undefined ? "group" : "p2p",
          message_type: type,
          content: JSON.stringify(content),
          mentions: mentions.map((each, at) => ({
            key: `@_user_${at + 1}`,
            id: this.idsOf(each),
            name: each === BOT ? "Corral" : (this.people.get(each) ?? each),
            tenant_key: TENANT
          }))
        }
      }
    )
    return { id, eventId, taken: this.delivery.event(event) }
  }

  /** A message is recalled, by its author if no one else is named. Resolves when the Gateway has the event. */
  recalls(messageId: string, by: "group_owner" | "message_owner" = "message_owner"): Promise<boolean> {
    const { chat } = this.message(messageId)
    const event = envelope(
      {
        event_id: this.nextEvent(),
        event_type: "im.message.recalled_v1",
        create_time: String(Date.now() + this.shift),
        tenant_key: TENANT
      },
      { message_id: messageId, chat_id: chat, recall_time: String(Date.now()), recall_type: by }
    )
    return this.delivery.event(event)
  }

  /**
   * A user clicks on a button, by its label in any language or its place. `form`: what the user entered in the fields of the card. Resolves when the click is answered, or is not: it comes
   * once.
   */
  async clicks(
    person: string,
    messageId: string,
    which: string | number,
    {
      eventId = this.nextEvent(),
      form
    }: { eventId?: string; form?: Readonly<Record<string, string | ReadonlyArray<string>>> } = {}
  ): Promise<DeliveredClick> {
    const message = this.message(messageId)
    const buttons = (["en_us", "zh_cn"] as const).flatMap(
      (language) => shownCardOf(message.content, language).buttons
    )
    const found = typeof which === "number" ? buttons[which] : buttons.find(({ label }) => label === which)
    if (found === undefined) throw new Error(`there is no button ${which}`)
    if (found.value === undefined) throw new Error(`the button ${which} is a link`)
    const event = envelope(
      { event_id: eventId, event_type: "card.action.trigger", create_time: `${Date.now() + this.shift}480` },
      {
        operator: { ...this.idsOf(person), tenant_key: TENANT },
        token: `c-${eventId}`,
        action: { value: found.value, tag: "button", ...(form === undefined ? {} : { form_value: form }) },
        host: "im_message",
        context: { open_message_id: messageId, open_chat_id: message.chat }
      }
    )
    this.messagesOfAll.click(message)
    const { body, status } = await this.delivery.once(event, "card-actions")
    const { card, toast } = (body ?? {}) as {
      readonly card?: { readonly data?: unknown }
      readonly toast?: DeliveredClick["toast"]
    }
    this.messagesOfAll.answered(message, status === 200 ? card?.data : undefined)
    return { eventId, status, toast, body }
  }

  /** A user forwards a message into another chat; gives the copy's id. */
  forwards(person: string, messageId: string, chat: string): string {
    const { content, type } = this.message(messageId)
    return this.messagesOfAll.add({ chat, by: person, type, content }).id
  }

  /** The next calls of that kind are refused: with a code under 400, or with any status. */
  fail(api: Api, { code = 1, status = 400, times = 1 }: { code?: number; status?: number; times?: number }) {
    this.api.fault(api, { _tag: "Fail", status, code }, times)
  }

  /** The next calls of that kind are never answered. */
  hang(api: Api, times = 1): void {
    this.api.fault(api, { _tag: "Hang" }, times)
  }

  /** The next calls of that kind are done, and their answers lost. */
  lose(api: Api, times = 1): void {
    this.api.fault(api, { _tag: "Lose" }, times)
  }

  /** Advances the time for the platform's rules. */
  passes(millis: number): void {
    this.shift += millis
  }

  /** Until there is something; looked for whenever something changes. */
  async until<A>(look: () => A | undefined | false, millis = 15_000): Promise<A> {
    let looking: () => void = () => undefined
    const found = new Promise<A>((resolve, reject) => {
      looking = () => {
        try {
          const value = look()
          if (value !== undefined && value !== false) resolve(value)
        } catch (error) {
          reject(error as Error)
        }
      }
      this.lookers.add(looking)
      looking()
    })
    try {
      return await within(found, millis, look.toString())
    } finally {
      this.lookers.delete(looking)
    }
  }

  async close(): Promise<void> {
    this.delivery.close()
    this.connection.close()
    for (const socket of this.sockets) socket.destroy()
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
  }

  private nextEvent(): string {
    return `ev_fake_${++this.events}`
  }

  private idsOf(person: string) {
    return { open_id: person, union_id: person.replace("ou_", "on_") }
  }
}
