/** Requests as Feishu sends them: envelopes, encrypted and signed, with its two kinds of timestamps. */
import { createCipheriv, createHash, randomBytes } from "node:crypto"

export const APP = "cli_a0123456789abcde"
export const TENANT = "tenant_1"
export const BOT = "ou_bot"
export const KEY = "an encrypt key"
export const TOKEN = "a-verification-token"

export interface SentBotMessage {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export const encrypted = (text: string | Buffer, key = KEY): string => {
  const iv = randomBytes(16)
  const cipher = createCipheriv("aes-256-cbc", createHash("sha256").update(key).digest(), iv)
  return Buffer.concat([iv, cipher.update(text), cipher.final()]).toString("base64")
}

/** As Go prints a time, in a separate zone. */
export const goTime = (millis: number): string => {
  const [day = "", rest = ""] = new Date(millis + 8 * 3_600_000).toISOString().split("T")
  return `${day} ${rest.replace("Z", "")}290112 +0800 CST m=+3612.101`
}

export const seconds = (millis: number): string => String(Math.floor(millis / 1_000))

export const signed = (body: string | Buffer, timestamp: string, key = KEY): SentBotMessage => {
  const bytes = Buffer.from(body)
  const nonce = "n0nce"
  const signature = createHash("sha256")
    .update(timestamp + nonce + key)
    .update(bytes)
    .digest("hex")
  return {
    body: bytes,
    headers: {
      "content-type": "application/json;charset=utf-8",
      "x-lark-request-timestamp": timestamp,
      "x-lark-request-nonce": nonce,
      "x-lark-signature": signature
    }
  }
}

/** Without a signature. */
export const unsigned = (body: unknown): SentBotMessage => ({
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  headers: { "content-type": "application/json" }
})

export interface Header {
  readonly event_id: string
  readonly event_type: string
  readonly create_time: string
  readonly token: string
  readonly app_id: string
  readonly tenant_key: string
}

export const envelope = (header: Partial<Header>, event: object) => ({
  schema: "2.0",
  header: {
    event_id: "ev_1",
    event_type: "im.message.receive_v1",
    create_time: String(Date.now()),
    token: TOKEN,
    app_id: APP,
    tenant_key: TENANT,
    ...header
  },
  event
})

const senderOf = (account: string) => ({
  sender_id: { open_id: account, union_id: account.replace("ou_", "on_") },
  sender_type: "user",
  tenant_key: TENANT
})

export const feishuMessage = (text: string, chat = "oc_1", over: object = {}) => ({
  sender: senderOf("ou_ada"),
  message: {
    message_id: "om_1",
    chat_id: chat,
    chat_type: "p2p",
    message_type: "text",
    content: JSON.stringify({ text }),
    ...over
  }
})

export const click = (action: unknown, chat = "oc_1") => ({
  operator: { open_id: "ou_ada", tenant_key: TENANT },
  token: "c-1",
  action: { value: action, tag: "button" },
  context: { open_message_id: "om_card", open_chat_id: chat }
})

/** Encrypted and signed at that time, in milliseconds. */
export const encryptedPush = (content: unknown, at = Date.now(), timestamp = seconds(at)): SentBotMessage =>
  signed(JSON.stringify({ encrypt: encrypted(JSON.stringify(content)) }), timestamp)

/** A message event as it arrives. */
export const pushedMessage = (id: string, text = "hello", chat = "oc_1", sender = "ou_ada"): SentBotMessage =>
  encryptedPush(envelope({ event_id: id }, { ...feishuMessage(text, chat), sender: senderOf(sender) }))

export const pushedClick = (id: string, action: unknown = { a: "act_1" }, chat = "oc_1"): SentBotMessage =>
  encryptedPush(
    envelope(
      { event_id: id, event_type: "card.action.trigger", create_time: `${Date.now()}480` },
      click(action, chat)
    ),
    Date.now(),
    goTime(Date.now())
  )
