/** From a message to a result, over real processes and the platform's own SDK: a person writes, an agent works, a tap decides. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubApproval } from "@corral/domain/hub-api/HubRun"
import type { Task } from "@corral/domain/task/Task"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { BOT, envelope, encryptedPush } from "@corral/testing/gateway/FakeFeishu"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"

const RUNS = "The agent wants to run a command"
const WRITES = "The agent wants to change files"

describe("a bot", () => {
  let chats: Chats
  let owner: Chatter
  let team: string
  beforeAll(async () => {
    chats = await Chats.open()
    owner = await chats.linked("owner")
    team = chats.fake.group("oc_team")
  })
  afterAll(() => chats.remove())

  const pathOf = (name: string) => join(chats.joined.edge.workspace, name)
  const tasks = async () =>
    (await chats.joined.owner.ask<{ readonly items: ReadonlyArray<Task> }>("GET", "/client/tasks?limit=200"))
      .body.items
  const pending = async () =>
    (
      await chats.joined.owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
        "GET",
        "/client/approvals?state=pending"
      )
    ).body.items

  it("skips a denied action", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /shell touch denied.txt")
    const card = await chats.card(owner.chat, RUNS, before)
    await chats.click(owner, card.id, "Deny")
    await chats.cardWith(owner.chat, RUNS, /^Denied by owner$/)
    await chats.card(owner.chat, "Done", before)
    assert.isFalse(existsSync(pathOf("denied.txt")))
  })

  it("names the first decider after a second click and changes nothing", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /write twice.txt a")
    const card = await chats.card(owner.chat, WRITES, before)
    const buttons = { ...(card.content as object) }
    await chats.click(owner, card.id, "Allow once")
    await chats.cardWith(owner.chat, WRITES, /^Allowed by owner$/)
    await chats.card(owner.chat, "Done", before)
    // As a client that has not heard yet shows it.
    card.content = buttons
    await chats.click(owner, card.id, "Deny")
    await chats.botText(owner.chat, /^Already decided by owner\.$/, before)
    assert.strictEqual(readFileSync(pathOf("twice.txt"), "utf8"), "a\n")
  })

  it("accepts one of two simultaneous clicks", async () => {
    const mara = await chats.linked("mara", "member")
    const before = chats.fake.botMessages(team).length
    await chats.sendMessage(owner, "/run /write both.txt a", { chat: team, mentions: [BOT] })
    const card = await chats.card(team, WRITES, before)
    await Promise.all([chats.click(owner, card.id, "Allow once"), chats.click(mara, card.id, "Deny")])
    const settled = await chats.cardWith(team, WRITES, /^(Allowed by owner|Denied by mara)$/)
    const denied = chats.fake.shown(settled.id).lines.includes("Denied by mara")
    const loser = denied ? owner : mara
    await chats.botText(loser.chat, denied ? /^Already decided by mara\.$/ : /^Already decided by owner\.$/)
    await chats.card(team, "Done", before)
    assert.strictEqual(existsSync(pathOf("both.txt")), !denied)
  })

  it("rejects clicks of users without authority in any chat", async () => {
    const viewer = await chats.linked("vera", "viewer")
    const outsider = await chats.linked("otto")
    const stranger = chats.stranger("sly")
    const before = chats.fake.botMessages(team).length
    await chats.sendMessage(owner, "/run /write kept.txt a", { chat: team, mentions: [BOT] })
    const card = await chats.card(team, WRITES, before)
    await chats.click(viewer, card.id, "Allow once")
    await chats.botText(viewer.chat, /^You don't have permission to do this\.$/)
    await chats.click(outsider, card.id, "Allow once")
    await chats.botText(outsider.chat, /^You don't have permission to do this\.$/)
    await chats.click(stranger, card.id, "Allow once")
    await chats.card(stranger.chat, "Link this account")

    // Passed on: it is another message, in another chat.
    const copy = chats.fake.forwards(owner.account, card.id, chats.fake.group("oc_elsewhere"))
    await chats.click(owner, copy, "Allow once")
    await chats.botText(owner.chat, /only works where the card was first sent/)
    assert.lengthOf(await pending(), 1)
    assert.isFalse(existsSync(pathOf("kept.txt")))

    await chats.click(owner, card.id, "Deny")
    await chats.cardWith(team, WRITES, /^Denied by owner$/)
  })

  it("reads only messages that mention the bot in a group", async () => {
    const other = chats.fake.person("ou_other_bot", "Corral")
    const count = (await tasks()).length
    await chats.sendMessage(owner, "/run /say unmentioned", { chat: team })
    await chats.sendMessage(owner, "/run /say the other", { chat: team, mentions: [other] })
    await chats.sendMessage(owner, "/run /say all", {
      chat: team,
      type: "text",
      content: { text: "@_all /say all" }
    })
    await chats.settled()
    assert.lengthOf(await tasks(), count)
    const before = chats.fake.botMessages(team).length
    await chats.sendMessage(owner, "/run /say me", { chat: team, mentions: [BOT] })
    await chats.card(team, "Done", before)
    await chats.settled()
    assert.lengthOf(await tasks(), count + 1)
    // Agent output goes only to the direct chat of the user who started the run.
    assert.isTrue(
      chats.fake
        .botMessages(team)
        .slice(before)
        .every(({ type }) => type === "interactive")
    )
  })

  it("handles a repeated message once", async () => {
    const count = (await tasks()).length
    const before = chats.fake.botMessages(owner.chat).length
    chats.fake.passes(-6 * 3_600_000)
    await chats.sendMessage(owner, "/new /say once", { eventId: "ev_again" })
    await chats.settled()
    for (let times = 0; times < 3; times++)
      await chats.sendMessage(owner, "/new /say once", { eventId: "ev_again" })
    chats.fake.passes(6 * 3_600_000)
    await chats.sendMessage(owner, "/new /say once", { eventId: "ev_again" })
    await chats.settled()
    // The message waits for its turn while a run of the test before ends.
    await chats.card(owner.chat, "Done", before)
    assert.lengthOf(await tasks(), count + 1)
  })

  it.each([300_000, 1_500_000])(
    "answers a message of %i characters at once, and then the next one",
    async (length) => {
      const before = chats.fake.botMessages(owner.chat).length
      await chats.sendMessage(owner, `/run ${"x".repeat(length)}`)
      await chats.botText(owner.chat, /^Your message is too long/, before)
      await chats.sendMessage(owner, "help")
      await chats.botText(owner.chat, /help – show this list/, before)
    }
  )

  it("understands commands and answers in the language of the message", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "帮助")
    await chats.botText(owner.chat, /把要做的事发给我/, before)
    await chats.sendMessage(owner, "status")
    await chats.botText(owner.chat, /^Nothing is in progress here\.$/, before)
    await chats.sendMessage(owner, "/new /shell touch said.txt")
    await chats.card(owner.chat, RUNS, before)
    // The card is shown before its phase is stored.
    const waits =
      "FROM corral_gateway.follows WHERE ended_at IS NULL AND progress::json->>'phase' = 'waiting'"
    await until(async () => (await chats.gateway.count(waits)) === 1 || undefined, "the stored phase")
    await chats.sendMessage(owner, "status")
    await chats.botText(owner.chat, /^1\. Atlas · .* – Needs your decision$/, before)
    await chats.sendMessage(owner, "approve")
    await chats.botText(owner.chat, /^Allowed\.$/, before)
    await chats.card(owner.chat, "Done", before)
    assert.isTrue(existsSync(pathOf("said.txt")))
    await chats.sendMessage(owner, "/new /wait")
    await chats.card(owner.chat, "Running", before)
    await chats.sendMessage(owner, "取消")
    await chats.botText(owner.chat, /^正在停止。$/, before)
    await chats.card(owner.chat, "Cancelled", before)
    await chats.sendMessage(owner, "list")
    await chats.botText(owner.chat, /^1\. Atlas · scripted · .* – cancelled\n2\. /, before)
    await chats.sendMessage(owner, "approve")
    await chats.botText(owner.chat, /^No approval is pending here\.$/, before)
    await chats.sendMessage(owner, "agent unknown")
    await chats.botText(owner.chat, /^There is no such agent\. Agents at this location: .*scripted/, before)
    await chats.sendMessage(owner, "use 9")
    await chats.botText(owner.chat, /^There is no location with this number\.$/, before)
    await chats.sendMessage(owner, "bind")
    await chats.botText(owner.chat, /^This account acts as owner\./, before)
    await chats.sendMessage(owner, "", { type: "image", content: { image_key: "img_1" } })
    await chats.botText(owner.chat, /^I can only read text so far\./, before)
  })

  it("answers in the language that the user prefers", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const prefer = (language: "zh" | null) =>
      chats.joined.owner.ask("PATCH", "/client/preferences", { body: { language } })
    await prefer("zh")
    await chats.sendMessage(owner, "help")
    await chats.botText(owner.chat, /把要做的事发给我/, before)
    await prefer(null)
    await chats.sendMessage(owner, "help")
    await chats.botText(owner.chat, /help – show this list/, before)
  })

  it("cancels the run by the button of its card", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /wait")
    const card = await chats.card(owner.chat, "Running", before)
    await chats.click(owner, card.id, "Cancel")
    await chats.card(owner.chat, "Cancelled", before)
  })

  it("continues the work of a stopped Gateway and shows decisions made elsewhere", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /write left.txt a\n/say survived")
    const card = await chats.card(owner.chat, WRITES, before)
    await chats.gateway.end("SIGKILL")
    const [approval] = await pending()
    const decided = await chats.joined.owner.ask("POST", `/client/approvals/${approval?.id}/decide`, {
      body: { decision: "allow", scope: "once" }
    })
    assert.strictEqual(decided.status, 200, decided.text)
    await chats.restartGateway()
    await chats.cardWith(owner.chat, WRITES, /^Allowed by owner$/)
    await chats.botText(owner.chat, /survived/, before)
    assert.strictEqual(chats.fake.botMessages(owner.chat).filter(({ id }) => id === card.id).length, 1)
    assert.lengthOf(
      chats.fake
        .botMessages(owner.chat)
        .slice(before)
        .filter(({ type }) => type === "interactive"),
      2
    )
  })

  it("reports an event that failed", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const broken = encryptedPush(
      envelope({ event_id: "ev_broken" }, { sender: {}, message: { chat_id: owner.chat, content: 1 } })
    )
    assert.strictEqual((await chats.gateway.deliver(broken)).status, 200)
    await chats.botText(owner.chat, /^This failed after several attempts/, before)
    await chats.settled()
  })

  it("rejects messages of an unlinked account", async () => {
    const ulla = await chats.linked("ulla", "member")
    await chats.sendMessage(ulla, "/run /wait")
    const run = await chats.card(ulla.chat, "Running")
    const count = (await tasks()).length
    await chats.sendMessage(ulla, "unbind")
    await chats.botText(ulla.chat, /account is no longer linked/)
    // The account can no longer read the result.
    await until(async () => chats.fake.shown(run.id).title === "No longer followed" || undefined, "its end")
    const links = chats.fake.botMessages(ulla.chat).length
    await chats.sendMessage(ulla, "/run /say again")
    await chats.card(ulla.chat, "Link this account", links)
    await chats.settled()
    assert.lengthOf(await tasks(), count)
  })

  it("says when an account is suspended, and how it acts again", async () => {
    const rare = await chats.linked("rare", "member")
    const signedIn = (age: string) =>
      chats.joined.hub.people.act(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql`UPDATE users SET signed_in_at = now() - ${age}::interval WHERE name = 'rare'`
        )
      )
    await signedIn("91 days")
    await chats.botText(rare.chat, /^This account no longer acts as you, /)
    await signedIn("1 day")
    const before = chats.fake.botMessages(rare.chat).length
    await chats.sendMessage(rare, "help")
    await chats.botText(rare.chat, /help – show this list/, before)
  })
})
