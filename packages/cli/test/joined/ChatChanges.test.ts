/** Messages that their authors edit, delete or recall in the chat, over real processes: a waiting one is changed or withdrawn, a later one is noted. */
import type { Message } from "@corral/domain/session/Message"
import type { SessionItem } from "@corral/domain/session/Session"
import { deleted, edited } from "@corral/testing/gateway/FakeSlack"
import { until } from "@corral/testing/time/Until"
import { afterAll, beforeAll, describe, it } from "@effect/vitest"
import { Chats } from "./Chats.ts"
import { SlackChats } from "./SlackChats.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

describe("A message that is changed in the chat", () => {
  let chats: Chats
  let slack: SlackChats
  beforeAll(async () => {
    slack = await SlackChats.open()
    chats = await Chats.open({ gatewayEnv: slack.env })
  })
  afterAll(async () => {
    await chats.remove()
    await slack.stop()
  })

  /** Messages of all sessions of the owner. */
  const messages = async (): Promise<ReadonlyArray<Message>> => {
    const { owner } = chats.joined
    const sessions = await owner.ask<Items<SessionItem>>("GET", "/client/sessions?limit=200")
    const pages = await Promise.all(
      sessions.body.items.map(({ id }) =>
        owner.ask<Items<Message>>("GET", `/client/sessions/${id}/messages?limit=200`)
      )
    )
    return pages.flatMap(({ body }) => body.items)
  }
  const untilMessage = (text: string, state: string) =>
    until(
      async () =>
        (await messages()).find((each) => each.text.trim() === text && each.delivery?.state === state),
      `the message "${text}" ${state}`,
      30_000
    )

  it("waits with its new text, or is withdrawn, on Slack", async () => {
    await slack.link(chats)
    const first = await slack.send(chats, "/run /write slack.txt a")
    await untilMessage("/write slack.txt a", "delivered")
    const second = await slack.send(chats, "/run /say two")
    await untilMessage("/say two", "pending")
    // A preview of a link.
    await slack.event(chats.gateway, edited(second, "/run /say two", "/run /say two"))
    await slack.event(chats.gateway, edited(second, "/run /say two", "/run /say three"))
    await untilMessage("/say three", "pending")
    await slack.event(chats.gateway, deleted(second, "/say three"))
    await untilMessage("/say three", "withdrawn")
    await slack.event(chats.gateway, edited(first, "/run /write slack.txt a", "/run /write slack.txt b"))
    await slack.message(({ text }) => text.startsWith("智能体已经收到你编辑前的消息"), "a note")
    await slack.event(chats.gateway, deleted(first, "/write slack.txt a"))
    await slack.message(({ text }) => text.startsWith("智能体已经收到你删除的消息"), "another note")
    await slack.send(chats, "stop")
  })

  it("is withdrawn when its author recalls it, on Feishu", async () => {
    const owner = await chats.linked("owner")
    const first = await chats.sendMessage(owner, "/run /write feishu.txt a")
    await untilMessage("/write feishu.txt a", "delivered")
    const other = await chats.sendMessage(owner, "/run /say other")
    const second = await chats.sendMessage(owner, "/run /say four")
    await untilMessage("/say four", "pending")
    await chats.fake.recalls(other.id, "group_owner")
    await chats.fake.recalls(second.id)
    await untilMessage("/say four", "withdrawn")
    await untilMessage("/say other", "pending")
    await chats.fake.recalls(first.id)
    await chats.botText(owner.chat, /^The agent already has the message that you deleted/)
  })
})
