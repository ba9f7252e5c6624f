/**
 * Chats of the fake Feishu and their messages, with the rules of the platform: permissions, sizes, calls per second, idempotency keys for an hour,
 * and cards that can be updated for 14 days. Also what a person sees of a card in JSON 2.0, in one language.
 */
import { isJsonObject } from "@corral/domain/text/JsonObject"

interface ShownButton {
  readonly label: string
  /** What a click sends. */
  readonly value?: unknown
  /** Where a link leads. */
  readonly url?: string
}

export interface ShownCard {
  readonly title: string
  readonly template: string
  readonly lines: ReadonlyArray<string>
  readonly buttons: ReadonlyArray<ShownButton>
  /** Names of the fields of its form. */
  readonly fields?: ReadonlyArray<string>
}

export type ShownLanguage = "en_us" | "zh_cn"

type Json = Readonly<Record<string, unknown>>

const json = (value: unknown): Json => (isJsonObject(value) ? value : {})
const list = (value: unknown): ReadonlyArray<Json> => (Array.isArray(value) ? value.filter(isJsonObject) : [])

const wordsOf = (text: unknown, language: ShownLanguage): string => {
  const { content, i18n_content } = json(text)
  return String(json(i18n_content)[language] ?? content ?? "")
}

/** Whether the platform takes it for a card that can be changed later. */
const isCard = (content: unknown): boolean =>
  isJsonObject(content) &&
  content["schema"] === "2.0" &&
  json(content["config"])["update_multi"] === true &&
  Array.isArray(json(content["body"])["elements"])

export const shownCardOf = (content: unknown, language: ShownLanguage): ShownCard => {
  const { body, header } = json(content)
  const inside = (element: Json): ReadonlyArray<Json> => {
    if (element["tag"] === "form") return list(element["elements"]).flatMap(inside)
    return element["tag"] === "column_set"
      ? list(element["columns"]).flatMap((column) => list(column["elements"]).flatMap(inside))
      : [element]
  }
  const elements = list(json(body)["elements"]).flatMap(inside)
  const fields = elements.filter(
    ({ tag }) => tag === "input" || tag === "select_static" || tag === "multi_select_static"
  )
  const behaviour = (element: Json, type: string) =>
    list(element["behaviors"]).find((each) => each["type"] === type)
  return {
    title: wordsOf(json(header)["title"], language),
    template: String(json(header)["template"] ?? ""),
    lines: elements.filter(({ tag }) => tag === "div").map(({ text }) => wordsOf(text, language)),
    ...(fields.length === 0 ? {} : { fields: fields.map(({ name }) => String(name)) }),
    buttons: elements
      .filter(({ tag }) => tag === "button")
      .map((element) => {
        const [callback, link] = [behaviour(element, "callback"), behaviour(element, "open_url")]
        return {
          label: wordsOf(element["text"], language),
          ...(callback === undefined ? {} : { value: callback["value"] }),
          ...(link === undefined ? {} : { url: String(link["default_url"]) })
        }
      })
  }
}

export interface FakeMessage {
  readonly id: string
  readonly chat: string
  /** "bot", or an open id. */
  readonly by: string
  readonly type: string
  /** Current content. */
  content: unknown
  readonly sentAt: number
  readonly replyTo: string | undefined
  readonly thread: string | undefined
  /** Whom a text mentions, wanted or not. */
  readonly mentions: ReadonlyArray<string>
  /** How often it was changed by the bot. */
  changes: number
  /** How often a client put a card back as it was before a click, because it was changed before the click was answered. */
  undone: number
}

/** An answer of the API: 0, or why not. */
export interface FakeAnswer {
  readonly code: number
  readonly msg?: string
  readonly data?: unknown
}

const HOUR_MS = 3_600_000
const PER_SECOND = 5
const TEXT_BYTES = 150 * 1_024
const CARD_BYTES = 30 * 1_024
const CHANGEABLE_MS = 14 * 24 * HOUR_MS

const refused = (code: number, msg: string): FakeAnswer => ({ code, msg })

export class FakeMessages {
  readonly all: Array<FakeMessage> = []
  /** Chats that the bot is in; a direct one names its person. */
  readonly chats = new Map<string, string | undefined>()
  /** Whether more than 5 calls in a second about a chat or a message are refused. */
  limited = true
  private readonly now: () => number
  private readonly changed: () => void
  private readonly keys = new Map<string, { readonly at: number; readonly answer: FakeAnswer }>()
  private readonly recent = new Map<string, Array<number>>()
  /** Cards as they were when a user clicked, until the click is answered. */
  private readonly clicked = new Map<string, unknown>()

  constructor(now: () => number, changed: () => void) {
    this.now = now
    this.changed = changed
  }

  get(id: string): FakeMessage | undefined {
    return this.all.find((message) => message.id === id)
  }

  add(message: Pick<FakeMessage, "chat" | "by" | "type" | "content"> & Partial<FakeMessage>): FakeMessage {
    const created: FakeMessage = {
      id: `om_${this.all.length + 1}`,
      sentAt: this.now(),
      replyTo: undefined,
      thread: undefined,
      mentions: [],
      changes: 0,
      undone: 0,
      ...message
    }
    this.all.push(created)
    this.changed()
    return created
  }

  /** The chat of a receiver; undefined where the bot cannot write to it. */
  chatOf(type: string | null, receiver: unknown): string | undefined {
    if (type === "chat_id") return this.chats.has(String(receiver)) ? String(receiver) : undefined
    for (const [chat, person] of this.chats) if (person === receiver) return chat
    return undefined
  }

  send(
    chat: string | undefined,
    body: Readonly<Record<string, unknown>>,
    to: { readonly replyTo?: string; readonly thread?: string | undefined } = {}
  ): FakeAnswer {
    if (chat === undefined) return refused(230002, "Bot/User can NOT be out of the chat.")
    if (this.isTooMany(chat)) return refused(230020, "This operation triggers the frequency limit.")
    const { content: text, msg_type, uuid } = body
    if (uuid !== undefined && (typeof uuid !== "string" || uuid.length > 50))
      return refused(230001, "invalid uuid")
    const earlier = typeof uuid === "string" ? this.keys.get(uuid) : undefined
    if (earlier !== undefined && this.now() - earlier.at < HOUR_MS) return earlier.answer
    const content = contentOf(text)
    const wrong = wrongIn(String(msg_type), String(text), content)
    if (wrong !== undefined) return wrong
    const { id } = this.add({
      chat,
      by: "bot",
      type: String(msg_type),
      content,
      replyTo: to.replyTo,
      thread: to.thread,
      mentions: msg_type === "text" ? mentionsIn(String(text)) : []
    })
    const answer = { code: 0, msg: "success", data: { message_id: id, chat_id: chat, msg_type } }
    if (typeof uuid === "string") this.keys.set(uuid, { at: this.now(), answer })
    return answer
  }

  reply(id: string, body: Readonly<Record<string, unknown>>): FakeAnswer {
    const original = this.get(id)
    if (original === undefined) return refused(230011, "The message is not there.")
    const inThread = body["reply_in_thread"] === true || original.thread !== undefined
    const thread = inThread ? (original.thread ?? threadOf(id)) : undefined
    return this.send(original.chat, body, { replyTo: id, thread })
  }

  /** Puts a card in the place of another one. */
  change(id: string, text: unknown): FakeAnswer {
    const message = this.get(id)
    if (message === undefined) return refused(230001, "invalid message_id")
    if (message.by !== "bot") return refused(230012, "Bot is NOT the sender of the message.")
    if (message.type !== "interactive") return refused(230001, "This message is NOT a card.")
    if (this.now() - message.sentAt > CHANGEABLE_MS) return refused(230031, "The message is too old.")
    if (this.isTooMany(id)) return refused(230020, "This operation triggers the frequency limit.")
    const content = contentOf(text)
    const wrong = wrongIn("interactive", String(text), content)
    if (wrong !== undefined) return wrong
    message.content = content
    message.changes += 1
    this.changed()
    return { code: 0, msg: "success", data: {} }
  }

  /** A user clicks: what is changed from now on counts only if the click was answered before. */
  click(message: FakeMessage): void {
    if (!this.clicked.has(message.id)) this.clicked.set(message.id, message.content)
  }

  /** The click is answered, with a card or without one. */
  answered(message: FakeMessage, card: unknown): void {
    const before = this.clicked.get(message.id)
    this.clicked.delete(message.id)
    if (card !== undefined) message.content = card
    else if (message.content !== before) {
      message.content = before
      message.undone += 1
    }
    this.changed()
  }

  private isTooMany(key: string): boolean {
    const at = performance.now()
    const recent = (this.recent.get(key) ?? []).filter((each) => at - each < 1_000)
    this.recent.set(key, recent)
    if (this.limited && recent.length >= PER_SECOND) return true
    recent.push(at)
    return false
  }
}

/** The thread that a message is the root of. */
export const threadOf = (root: string): string => `omt_${root}`

const contentOf = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const mentionsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/<at\s[^>]*?(?:user_id|id)=\\?"?([^\\">\s]+)/g)].map(([, id = ""]) => id)

const wrongIn = (type: string, text: string, content: unknown): FakeAnswer | undefined => {
  if (type === "text") {
    if (Buffer.byteLength(text) > TEXT_BYTES) return refused(230025, "The length of the message is too long.")
    const isText =
      typeof content === "object" && content !== null && typeof Reflect.get(content, "text") === "string"
    return isText ? undefined : refused(230001, "invalid content")
  }
  if (type !== "interactive") return refused(230001, "invalid msg_type")
  if (Buffer.byteLength(text) > CARD_BYTES) return refused(230025, "The length of the card is too long.")
  return isCard(content) ? undefined : refused(230099, "Failed to create card content")
}
