/**
 * A fake Slack for one app in one workspace: the Web API that a bot calls, what its people see of it, and what it sends to a Gateway and tries
 * again: events as JSON, clicks as a form, each signed over its bytes with the time at which it is sent.
 *
 * It keeps what Slack keeps (channels, messages, ephemeral texts) and counts what it was asked. It knows as much of Slack's rules as a bot can
 * break: tokens, sizes of blocks, whose message may be changed, how often a `response_url` works.
 */
import type { SentBotMessage } from "./FakeFeishu.ts"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from "node:http"
import type { AddressInfo } from "node:net"

export const SLACK_APP = "A0CORRAL1"
export const TEAM = "T0TEAM"
export const SLACK_BOT = "U0BOT"
export const ADA = "U0ADA"
export const CHANNEL = "C0TEAM"
export const SLACK_SECRET = "a-signing-secret"
export const BOT_TOKEN = "xoxb-a-bot-token"

export const JSON_TYPE = "application/json"
export const FORM_TYPE = "application/x-www-form-urlencoded"

export const slackSeconds = (millis: number): string => String(Math.floor(millis / 1_000))

export const signedSlackRequest = (
  body: string | Buffer,
  type: string,
  timestamp = slackSeconds(Date.now()),
  secret = SLACK_SECRET
): SentBotMessage => {
  const bytes = Buffer.from(body)
  const signature = createHmac("sha256", secret).update(`v0:${timestamp}:`).update(bytes).digest("hex")
  return {
    body: bytes,
    headers: {
      "content-type": type,
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${signature}`
    }
  }
}

export const callback = (event: object, over: object = {}) => ({
  token: "an-old-verification-token",
  team_id: TEAM,
  api_app_id: SLACK_APP,
  event,
  type: "event_callback",
  event_id: "Ev1",
  event_time: 1_790_000_000,
  authorizations: [{ team_id: TEAM, user_id: SLACK_BOT, is_bot: true }],
  ...over
})

/** A direct message. */
export const direct = (text: string, over: object = {}) => ({
  type: "message",
  user: ADA,
  team: TEAM,
  text,
  ts: "1790000000.000100",
  channel: "D0ADA",
  channel_type: "im",
  ...over
})

/** A message in a channel that mentions the bot. */
export const mention = (text: string, over: object = {}) => ({
  type: "app_mention",
  user: ADA,
  team: TEAM,
  text: `<@${SLACK_BOT}> ${text}`,
  ts: "1790000000.000200",
  channel: CHANNEL,
  ...over
})

/** A direct message is edited. */
export const edited = (ts: string, before: string, text: string, over: object = {}) => ({
  type: "message",
  subtype: "message_changed",
  hidden: true,
  channel: "D0ADA",
  channel_type: "im",
  ts: "1790000099.000100",
  message: { type: "message", user: ADA, text, ts, edited: { user: ADA, ts: "1790000099.000000" } },
  previous_message: { type: "message", user: ADA, text: before, ts },
  ...over
})

/** A direct message is deleted. */
export const deleted = (ts: string, before: string, over: object = {}) => ({
  type: "message",
  subtype: "message_deleted",
  hidden: true,
  channel: "D0ADA",
  channel_type: "im",
  ts: "1790000099.000200",
  deleted_ts: ts,
  previous_message: { type: "message", user: ADA, text: before, ts },
  ...over
})

/** A click on a button of a card. */
export const slackClick = (value: unknown, over: object = {}) => ({
  type: "block_actions",
  token: "an-old-verification-token",
  api_app_id: SLACK_APP,
  team: { id: TEAM, domain: "acme" },
  user: { id: ADA, username: "ada", team_id: TEAM },
  channel: { id: CHANNEL, name: "team" },
  container: { type: "message", message_ts: "1790000000.000300", channel_id: CHANNEL, is_ephemeral: false },
  trigger_id: "1.2.3",
  message: { type: "message", text: "what the card says", ts: "1790000000.000300" },
  response_url: "https://hooks.slack.com/actions/T0TEAM/1/abc",
  actions: [{ type: "button", action_id: "action-0", block_id: "b", action_ts: "1790000001.000001", value }],
  ...over
})

export const pushedEvent = (payload: unknown, at = Date.now()): SentBotMessage =>
  signedSlackRequest(JSON.stringify(payload), JSON_TYPE, slackSeconds(at))

export const pushedSlackMessage = (id: string, text = "hello"): SentBotMessage =>
  pushedEvent(callback(direct(text), { event_id: id }))

export const pushedSlackClick = (payload: unknown, at = Date.now()): SentBotMessage =>
  signedSlackRequest(
    new URLSearchParams({ payload: JSON.stringify(payload) }).toString(),
    FORM_TYPE,
    slackSeconds(at)
  )

type Json = Readonly<Record<string, unknown>>

interface Button {
  readonly action_id: string
  readonly value?: string
  readonly url?: string
  readonly style?: string
  readonly text: { readonly type: string; readonly text: string }
}
interface SlackBlock {
  readonly type: string
  readonly text?: { readonly type: string; readonly text: string }
  readonly elements?: ReadonlyArray<Button>
}
export interface SlackMessage {
  readonly channel: string
  readonly ts: string
  readonly thread: string | undefined
  readonly text: string
  readonly blocks: ReadonlyArray<SlackBlock>
  /** As it was sent. */
  readonly parameters: Readonly<Record<string, string>>
}
/** What a call is answered with instead; `drop`: the connection ends. */
export type SlackFault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | "drop"

/** When a push is tried, in milliseconds after the one before it failed. */
const LADDER = [0, 0, 60_000, 300_000]

const people: Readonly<Record<string, Json>> = {
  [ADA]: { name: "ada", real_name: "Ada L.", locale: "zh-CN", profile: { display_name: "Ada" } },
  U0BO: { name: "bo", real_name: "Bo", locale: "en-GB", profile: { display_name: "" } }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

const ids = (blocks: ReadonlyArray<SlackBlock>) =>
  blocks.flatMap(({ elements }) => elements ?? []).map(({ action_id }) => action_id)

const isWithin = ({ text }: { readonly text?: { readonly text: string } | undefined }, most: number) =>
  text === undefined || (text.text.length > 0 && text.text.length <= most)

/** What Slack says of blocks that it does not take. */
const refusalOf = (blocks: ReadonlyArray<SlackBlock>): string | undefined => {
  const fits = blocks.every(
    (block) =>
      isWithin(block, block.type === "header" ? 150 : 3_000) &&
      (block.elements ?? []).length <= 25 &&
      (block.elements ?? []).every((button) => isWithin(button, 75))
  )
  return fits && blocks.length <= 50 && new Set(ids(blocks)).size === ids(blocks).length
    ? undefined
    : "invalid_blocks"
}

export class FakeSlack {
  /** Methods that were called, in their order. */
  readonly calls: Array<string> = []
  readonly messages = new Map<string, SlackMessage>()
  /** What only one person saw. */
  readonly ephemerals: Array<{ readonly body: Json; readonly headers: IncomingHttpHeaders }> = []
  readonly channels = new Set(["C0TEAM", "D0ADA"])
  /** Of a `response_url`. */
  usesLeft = 5
  /** Whether the connection of a call breaks: before it is done, or before its response. */
  loss: (method: string) => "request" | "response" | undefined = () => undefined
  private readonly faults = new Map<string, Array<SlackFault>>()
  private readonly server: Server
  private clock = 1_790_000_100

  private constructor(server: Server) {
    this.server = server
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void this.serve(request, response)
    })
  }

  static async start(): Promise<FakeSlack> {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    return new FakeSlack(server)
  }

  /** Origin of its API, for `CORRAL_SLACK_DOMAIN`. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, "close")
  }

  /** Applies outcomes to the next calls of a method, in order. */
  fail(method: string, ...faults: ReadonlyArray<SlackFault>): void {
    this.faults.set(method, [...(this.faults.get(method) ?? []), ...faults])
  }

  count(method: string): number {
    return this.calls.filter((each) => each === method).length
  }

  /** The one message that was said, by `ts`. */
  message(ts: string): SlackMessage {
    const found = this.messages.get(ts)
    if (found === undefined) throw new Error(`nothing was said at ${ts}`)
    return found
  }

  /** What Slack sends when a user clicks on a button of a message. */
  clickOn(ts: string, at: number, over: object = {}): SentBotMessage {
    const { blocks, channel } = this.message(ts)
    const button = blocks.flatMap(({ elements }) => elements ?? [])[at]
    if (button === undefined) throw new Error(`the message has no button ${at}`)
    const { action_id, value } = button
    this.clock += 1
    return pushedSlackClick(
      slackClick(undefined, {
        channel: { id: channel, name: "x" },
        container: { type: "message", message_ts: ts, channel_id: channel },
        response_url: `${this.url}/actions/1`,
        actions: [{ type: "button", action_id, action_ts: `${this.clock}.000001`, value }],
        ...over
      })
    )
  }

  /**
   * Sends an event until it is taken, at most four times: `make` signs it again each time, with the time of that try. Gives the statuses.
   * `scale` makes the ladder shorter.
   */
  async push(url: string, make: () => SentBotMessage, scale = 1 / 10_000): Promise<ReadonlyArray<number>> {
    const statuses: Array<number> = []
    for (const [at, wait] of LADDER.entries()) {
      await new Promise((resolve) => setTimeout(resolve, wait * scale))
      const { body, headers } = make()
      const retry = { "x-slack-retry-num": String(at), "x-slack-retry-reason": "http_error" }
      const response = await fetch(url, {
        method: "POST",
        headers: at === 0 ? headers : { ...headers, ...retry },
        body: new Uint8Array(body)
      })
      await response.arrayBuffer()
      statuses.push(response.status)
      if (response.ok || response.headers.get("x-slack-no-retry") === "1") break
    }
    return statuses
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const path = request.url ?? ""
    const method = path.startsWith("/api/") ? path.slice("/api/".length) : "response_url"
    this.calls.push(method)
    const fault = this.faults.get(method)?.shift()
    const loss = this.loss(method)
    if (fault === "drop" || loss === "request") return void request.socket.destroy()
    if (fault !== undefined) return void response.writeHead(fault.status, fault.headers).end(fault.body)
    if (method === "response_url") return this.receiveEphemeral(request, response, body)
    const isBot = request.headers.authorization === `Bearer ${BOT_TOKEN}`
    const answer = isBot
      ? this.answer(method, Object.fromEntries(new URLSearchParams(body)))
      : { ok: false, error: "invalid_auth" }
    if (loss === "response") return void request.socket.destroy()
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer))
  }

  private receiveEphemeral(request: IncomingMessage, response: ServerResponse, body: string): void {
    // The address is enough. A token must not be sent.
    if (request.headers.authorization !== undefined || this.usesLeft === 0)
      return void response.writeHead(404).end("expired_url")
    this.usesLeft -= 1
    this.ephemerals.push({ body: JSON.parse(body) as Json, headers: request.headers })
    response.writeHead(200).end("ok")
  }

  private answer(method: string, parameters: Readonly<Record<string, string>>): Json {
    switch (method) {
      case "auth.test":
        return { ok: true, user_id: SLACK_BOT, bot_id: "B0BOT", team: "Acme", team_id: TEAM }
      case "users.info": {
        const user = people[parameters["user"] ?? ""]
        return user === undefined ? { ok: false, error: "user_not_found" } : { ok: true, user }
      }
      case "conversations.open": {
        const channel = `D${(parameters["users"] ?? "").slice(1)}`
        this.channels.add(channel)
        return { ok: true, channel: { id: channel } }
      }
      case "chat.postMessage": {
        this.clock += 1
        return this.keep(parameters, `${this.clock}.000100`)
      }
      case "chat.update": {
        const ts = parameters["ts"] ?? ""
        return this.messages.has(ts) ? this.keep(parameters, ts) : { ok: false, error: "message_not_found" }
      }
      default:
        return { ok: false, error: "unknown_method" }
    }
  }

  private keep(parameters: Readonly<Record<string, string>>, ts: string): Json {
    const { blocks: blocksText = "[]", channel = "", text = "", thread_ts } = parameters
    const blocks = JSON.parse(blocksText) as ReadonlyArray<SlackBlock>
    if (!this.channels.has(channel)) return { ok: false, error: "channel_not_found" }
    if (text === "" && blocks.length === 0) return { ok: false, error: "no_text" }
    const error = refusalOf(blocks)
    if (error !== undefined) return { ok: false, error }
    this.messages.set(ts, { channel, ts, thread: thread_ts, text, blocks, parameters })
    return { ok: true, channel, ts, message: { text } }
  }
}
