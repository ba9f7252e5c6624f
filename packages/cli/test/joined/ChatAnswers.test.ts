/** Answers of a bot: each is sent once, or the person receives the reason. Links, refusals, lost direct chats, attachments, numbers. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Task } from "@corral/domain/task/Task"
import { BOT, envelope, encryptedPush } from "@corral/testing/gateway/FakeFeishu"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"

describe("a bot's answers", () => {
  let chats: Chats
  let owner: Chatter
  let team: string
  beforeAll(async () => {
    chats = await Chats.open()
    owner = await chats.linked("owner")
    team = chats.fake.group("oc_team")
  })
  afterAll(() => chats.remove())

  const textsIn = (chat: string, after = 0) =>
    chats.fake
      .botMessages(chat)
      .slice(after)
      .flatMap(({ content, type }) => (type === "text" ? [(content as { readonly text: string }).text] : []))
  const linksIn = (chat: string) =>
    chats.fake
      .botMessages(chat)
      .filter(({ id, type }) => type === "interactive" && chats.fake.shown(id).title === "Link this account")
  const tasks = async () =>
    (await chats.joined.owner.ask<{ readonly items: ReadonlyArray<Task> }>("GET", "/client/tasks?limit=200"))
      .body.items.length

  it.each([
    ["in a direct chat", undefined],
    ["in a group", "oc_team"]
  ])("are ten an hour for an account that is not linked %s, and say when they end", async (_, where) => {
    const sly = chats.stranger(where === undefined ? "sly" : "slyer")
    for (let at = 0; at < 14; at++)
      await chats.sendMessage(
        sly,
        `message ${at}`,
        where === undefined ? {} : { chat: where, mentions: [BOT] }
      )
    await chats.settled()
    assert.lengthOf(linksIn(sly.chat), 5)
    const texts = textsIn(sly.chat)
    assert.lengthOf(texts, 5)
    for (const text of texts.slice(0, 4)) assert.match(text, /several links in the last hour.* in \d+ min/)
    assert.match(texts[4] ?? "", /isn't linked yet.*answer again in \d+ min/)
    assert.strictEqual(
      await chats.gateway.count("FROM corral_gateway.inbox WHERE done_at IS NULL OR body IS NOT NULL"),
      0
    )
    // The number of the latest link counts all the same.
    await chats.confirm(sly, sly.name)
  })

  it("are sent to the group if the person cannot receive direct messages", async () => {
    const shy = chats.stranger("shy")
    const before = chats.fake.botMessages(team).length
    chats.fake.fail("send", { code: 230_013 })
    await chats.sendMessage(shy, "do something", { chat: team, mentions: [BOT] })
    await chats.botText(team, /^I can't send you a direct message\./, before)
  })

  it.each([400, 500])(
    "about a failed event come once, though the platform refuses with %i",
    async (status) => {
      const before = chats.fake.botMessages(owner.chat).length
      chats.fake.fail("send", status === 500 ? { status, times: 3 } : { code: 230_002, times: 1 })
      const id = `ev_broken_${status}`
      const broken = encryptedPush(
        envelope({ event_id: id }, { sender: {}, message: { chat_id: owner.chat } })
      )
      assert.strictEqual((await chats.gateway.deliver(broken)).status, 200)
      await chats.settled()
      if (status === 500) await chats.botText(owner.chat, /^This failed after several attempts/, before)
      await chats.sendMessage(owner, "status")
      await chats.botText(owner.chat, /^Nothing is in progress here/, before)
      assert.lengthOf(
        textsIn(owner.chat, before).filter((text) => text.startsWith("This failed after several attempts")),
        status === 500 ? 1 : 0
      )
    }
  )

  it.each(["123456", "/typo", "/typo fix it", "/状态了", "/status now"])(
    "to %j start no task",
    async (text) => {
      const [count, before] = [await tasks(), chats.fake.botMessages(owner.chat).length]
      await chats.sendMessage(owner, text)
      await chats.botText(owner.chat, /begin with \/run|以 \/run 开头/, before)
      await chats.settled()
      assert.strictEqual(await tasks(), count)
    }
  )

  it.each([
    [
      "an image in a text",
      "post",
      {
        content: [
          [
            { tag: "text", text: "/run /say seen" },
            { tag: "img", image_key: "img_1" }
          ]
        ]
      }
    ],
    ["a video", "media", { file_key: "file_1", file_name: "a.mp4" }],
    ["a sticker", "sticker", { file_key: "file_1" }],
    ["a file", "file", { file_key: "file_1", file_name: "a.txt" }],
    ["a shared contact", "share_user", { user_id: "ou_x" }]
  ])("say that %s is not passed on", async (_, type, content) => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "", { type, content })
    await chats.botText(
      owner.chat,
      type === "post" ? /can't pass on attachments/ : /can only read text/,
      before
    )
    if (type === "post") await chats.botText(owner.chat, /^seen$/, before)
  })

  it("list tasks so that no two look alike", async () => {
    for (const text of ["/new /say one", "/new /say one", "/new /say two"])
      await chats.sendMessage(owner, text)
    await chats.settled()
    await until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.follows WHERE ended_at IS NULL")) === 0 || undefined,
      "the end of all turns"
    )
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "list")
    const listed = (await chats.botText(owner.chat, /^1\. Atlas/, before)).split("\n")
    const named = listed.map((line) => line.replace(/^\d+\. /, ""))
    assert.strictEqual(new Set(named).size, named.length)
    assert.match(listed[0] ?? "", /\/say two/)
  })
})
