/** A message in a chat through Gateway, Hub and Edge to its result: the surface works. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Chatter, Chats } from "../joined/Chats.ts"

const WRITES = "The agent wants to change files"

describe("a bot", () => {
  let chats: Chats
  let owner: Chatter
  beforeAll(async () => {
    chats = await Chats.open()
    owner = await chats.linked("owner")
  })
  afterAll(() => chats.remove())

  const pathOf = (name: string) => join(chats.joined.edge.workspace, name)
  it("runs a message as a task, asks for approval and reports the result", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const message = await chats.sendMessage(owner, "/run /say before\n/write made.txt hello\n/say after")
    const card = await chats.card(owner.chat, WRITES, before)
    assert.isFalse(existsSync(pathOf("made.txt")))
    assert.strictEqual(card.replyTo, message.id)
    const run = chats.fake
      .botMessages(owner.chat)
      .find(
        ({ id, type }) =>
          type === "interactive" &&
          id !== card.id &&
          chats.fake.shown(id).buttons.some(({ label }) => label === "Cancel")
      )
    assert.isDefined(run)

    await chats.click(owner, card.id, "Allow once")
    await chats.cardWith(owner.chat, WRITES, /^Allowed by owner$/)
    await chats.cardWith(owner.chat, "Done", /1 file changed/)
    assert.strictEqual(chats.fake.shown(run.id).title, "Done")
    assert.strictEqual(await chats.botText(owner.chat, /after/, before), "after")
    assert.strictEqual(readFileSync(pathOf("made.txt"), "utf8"), "hello\n")
    await chats.settled()
    // The client puts back what was there before a click until that is answered: it stays decided.
    assert.include(chats.fake.shown(card.id).lines.join(), "Allowed by owner")
    assert.deepStrictEqual(
      chats.fake.shown(card.id).buttons.map(({ label }) => label),
      ["Look"]
    )
    const audit = await chats.joined.owner.ask<{
      readonly items: ReadonlyArray<{ readonly action: string; readonly actor: string }>
    }>("GET", `/client/audit?projectId=${chats.joined.projectId}&limit=200`)
    const deeds = audit.body.items.map(({ action, actor }) => `${action} ${actor}`)
    assert.includeMembers(deeds, [
      `task.create ${chats.joined.owner.userId}`,
      `approval.decide ${chats.joined.owner.userId}`
    ])
  })

  it("puts no prompt, path, diff or token in a card, or in its log", () => {
    const cards = JSON.stringify(
      chats.fake.calls().filter(({ api }) => api === "send" || api === "reply" || api === "patch")
    )
    assert.include(cards, "Atlas")
    for (const secret of [chats.joined.edge.workspace, "/write", "made.txt", "hello", "corral_"])
      assert.notInclude(cards, secret)
    assert.notInclude(chats.gateway.stderr, "made.txt")
  })
})
