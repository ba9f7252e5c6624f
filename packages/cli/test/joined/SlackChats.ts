/** A user who writes to the bot on a fake Slack, in the direct chat and in threads of a channel, through the Gateway of `Chats`. */
import { assert } from "@effect/vitest"
import {
  BOT_TOKEN,
  callback,
  CHANNEL,
  direct,
  FakeSlack,
  mention,
  pushedEvent,
  SLACK_APP,
  SLACK_SECRET,
  type SlackMessage,
  TEAM
} from "@corral/testing/gateway/FakeSlack"
import { Person } from "@corral/testing/hub/Chats"
import { until } from "@corral/testing/time/Until"
import type { Chats } from "./Chats.ts"

const buttonsOf = ({ blocks }: SlackMessage) => blocks.flatMap(({ elements }) => elements ?? [])

export class SlackChats {
  readonly slack: FakeSlack
  private events = 0

  private constructor(slack: FakeSlack) {
    this.slack = slack
  }

  static async open(): Promise<SlackChats> {
    return new SlackChats(await FakeSlack.start())
  }

  /** Settings of the Gateway. */
  get env(): Readonly<Record<string, string>> {
    return {
      CORRAL_SLACK_APP_ID: SLACK_APP,
      CORRAL_SLACK_SIGNING_SECRET: SLACK_SECRET,
      CORRAL_SLACK_BOT_TOKEN: BOT_TOKEN,
      CORRAL_SLACK_TEAMS: TEAM,
      CORRAL_SLACK_DOMAIN: this.slack.url
    }
  }

  /** Writes in the direct chat, or in the channel. Returns the message's `ts`. */
  async send({ gateway }: Chats, text: string, where: "direct" | { readonly thread?: string } = "direct") {
    const ts = `1790000${101 + this.events}.000100`
    const event =
      where === "direct"
        ? direct(text, { ts })
        : mention(text, { ts, ...(where.thread === undefined ? {} : { thread_ts: where.thread }) })
    await this.event(gateway, event)
    return ts
  }

  /** Sends an event, and waits until the Gateway has it. */
  async event(gateway: Chats["gateway"], event: object): Promise<void> {
    this.events += 1
    const body = callback(event, { event_id: `Ev${this.events}` })
    const url = `${gateway.url}/integrations/slack/events`
    const statuses = await this.slack.push(url, () => pushedEvent(body))
    assert.strictEqual(statuses.at(-1), 200)
  }

  /** Links the account to a user of the Hub. */
  async link(chats: Chats, name = "owner"): Promise<void> {
    await this.send(chats, "bind")
    const url = await until(
      async () =>
        this.all()
          .flatMap(buttonsOf)
          .findLast(({ url }) => url?.includes("/link/"))?.url,
      "a link on Slack"
    )
    await this.confirm(chats, url, name)
  }

  async confirm(chats: Chats, url: string, name: string): Promise<void> {
    const code = url.slice(url.lastIndexOf("/") + 1)
    const person = await Person.signedIn(chats.joined.hub, name)
    await person.open(code)
    const confirmed = await person.confirm(code)
    await this.send(chats, (confirmed.body as { readonly number: string }).number)
    await this.message(({ text }) => /已关联|Linked/.test(text), "the link")
  }

  all(): ReadonlyArray<SlackMessage> {
    return [...this.slack.messages.values()]
  }

  /** Texts of the bot in a thread, without cards. */
  textsIn(thread: string): ReadonlyArray<string> {
    return this.all()
      .filter(
        (message) => message.channel === CHANNEL && message.thread === thread && message.blocks.length === 0
      )
      .map(({ text }) => text)
  }

  message(is: (message: SlackMessage) => boolean, what = "a message on Slack"): Promise<SlackMessage> {
    return until(async () => this.all().findLast(is), what, 30_000)
  }

  stop(): Promise<void> {
    return this.slack.stop()
  }
}
