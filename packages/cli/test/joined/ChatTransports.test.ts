/** The same conversation over the other ways in: Feishu's long connection, and Slack. One Gateway holds both. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Project } from "@corral/domain/project/Project"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import { ADA, TEAM } from "@corral/testing/gateway/FakeSlack"
import { until } from "@corral/testing/time/Until"
import { Chats } from "./Chats.ts"
import { SlackChats } from "./SlackChats.ts"

const WRITES = "The agent wants to change files"

describe("a bot", () => {
  let chats: Chats
  let slack: SlackChats
  beforeAll(async () => {
    slack = await SlackChats.open()
    chats = await Chats.open({
      gatewayEnv: {
        CORRAL_FEISHU_CONNECTION: "long",
        CORRAL_FEISHU_BOT_ID: "",
        ...slack.env
      }
    })
    await chats.fake.until(() => chats.fake.connection.connected > 0)
  })
  afterAll(async () => {
    await chats.remove()
    await slack.stop()
  })
  const pathOf = (name: string) => join(chats.joined.edge.workspace, name)

  it("runs tasks and asks over the long connection, and asks for the project first", async () => {
    const owner = await chats.linked("owner")
    const { owner: client, deviceId } = chats.joined
    const second = await client.ask<Project>("POST", "/client/projects", { body: { name: "Borealis" } })
    const shared = await client.ask("PATCH", `/client/devices/${deviceId}`, {
      body: { sharedWith: [chats.joined.projectId, second.body.id] }
    })
    assert.strictEqual(shared.status, 200, shared.text)
    const team = chats.fake.group("oc_team")
    const message = await chats.sendMessage(owner, "/run /write long.txt a", { chat: team, mentions: [BOT] })
    const choice = await chats.card(team, "Where should the agent work?")
    const { lines } = chats.fake.shown(choice.id)
    const place = lines.findIndex((line) => line.includes("Borealis"))
    // Another member's click chooses nothing.
    const other = await chats.linked("mara", "member")
    await chats.click(other, choice.id, String(place + 1))
    await chats.botText(other.chat, /^You don't have permission to do this\.$/)
    await chats.click(owner, choice.id, String(place + 1))
    const card = await chats.card(team, WRITES)
    assert.include(chats.fake.shown(card.id).lines.join(), "Borealis")
    assert.strictEqual(card.replyTo, message.id)
    await chats.click(owner, card.id, "Allow once")
    await chats.card(team, "Done")
    assert.isTrue(existsSync(pathOf("long.txt")))
    assert.isTrue(chats.fake.delivery.all.every(({ over }) => over === "connection"))
    assert.strictEqual(chats.fake.message(card.id).undone, 0)

    // A reply continues in the same thread.
    const before = chats.fake.botMessages(team).length
    await chats.sendMessage(owner, "/run /say more", { chat: team, mentions: [BOT], thread: message.id })
    const done = await chats.card(team, "Done", before)
    assert.include(chats.fake.shown(done.id).lines.join(), "Borealis")
  })

  it("runs tasks and asks on Slack", async () => {
    const send = (text: string) => slack.send(chats, text)
    const titled = (title: string) =>
      slack.message(({ blocks }) =>
        blocks.some(({ text, type }) => type === "header" && text?.text.endsWith(title) === true)
      )
    const shows = (text: RegExp) =>
      slack.message((each) => text.test(JSON.stringify(each.blocks)) || text.test(each.text))

    await send("绑定")
    const link = await titled("关联此账号")
    const url =
      link.blocks.flatMap(({ elements }) => elements ?? []).find(({ url }) => url !== undefined)?.url ?? ""
    await slack.confirm(chats, url, "owner")
    await shows(/已关联/)

    await send("位置 1")
    await shows(/以后在这里/)
    await send("/run /write slack.txt a\n/say from slack")
    const card = await titled("智能体请求修改文件")
    const allow = card.blocks
      .flatMap(({ elements }) => elements ?? [])
      .findIndex(({ text }) => text.text === "允许一次")
    const click = () =>
      chats.gateway.deliver(slack.slack.clickOn(card.ts, allow), "/integrations/slack/card-actions")
    assert.strictEqual((await click()).status, 200)
    await shows(/owner 已允许/)
    await shows(/from slack/)
    assert.isTrue(existsSync(pathOf("slack.txt")))

    // An outdated card is still shown: the answer goes to the chat of the click.
    slack.slack.messages.set("late", { ...card, ts: "late" })
    const late = slack.slack.clickOn("late", allow, {
      user: { id: ADA, team_id: TEAM },
      container: { type: "message", message_ts: card.ts, channel_id: card.channel }
    })
    assert.strictEqual((await chats.gateway.deliver(late, "/integrations/slack/card-actions")).status, 200)
    await until(
      async () =>
        slack.slack.ephemerals.some(({ body }) => /owner 已做出决定/.test(String(body["text"]))) || undefined,
      "a whisper"
    )
    const messages = JSON.stringify(slack.all())
    for (const secret of [chats.joined.edge.workspace, "slack.txt", "/write"])
      assert.notInclude(messages, secret)
  })
})
