/**
 * Answers in a group about tasks that the person may not see. Covers every command and click that answers about a task, for a member, a
 * viewer, a person of another project and a removed person.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import type { FakeMessage } from "@corral/testing/gateway/FakeMessages"
import { type Chatter, Chats } from "./Chats.ts"

const RUNS = "The agent wants to run a command"
/** Said only to a person to whom the Hub shows the tasks. */
const TASK_TEXT =
  /Atlas|Waiting for|Needs your decision|There are|Already decided|It has ended|second|approve 1|cancel 1/

describe("a group with people of other projects", () => {
  let chats: Chats
  let team: string
  let owner: Chatter
  /** A card that was decided, and what it showed before. */
  let decided: FakeMessage
  let before: unknown
  const people = new Map<string, Chatter>()

  beforeAll(async () => {
    chats = await Chats.open()
    owner = await chats.linked("owner")
    team = chats.fake.group("oc_team")
    people.set("member", await chats.linked("mara", "member"))
    people.set("viewer", await chats.linked("vera", "viewer"))
    people.set("outsider", await chats.linked("otto"))
    people.set("removed", await chats.linked("rita", "member"))
    const { owner: client, projectId } = chats.joined
    const { userId } = await chats.joined.hub.signedIn("rita")
    const removed = await client.ask("DELETE", `/client/projects/${projectId}/members/${userId}`)
    assert.isBelow(removed.status, 300, removed.text)
    await chats.sendMessage(owner, "/run /flood 3 4 true", { chat: team, mentions: [BOT] })
    const cards = await chats.fake.until(() => {
      const shown = chats.fake
        .botMessages(team)
        .filter(({ id, type }) => type === "interactive" && chats.fake.shown(id).title === RUNS)
      return shown.length === 3 && shown
    }, 30_000)
    const open = new Map(cards.map((card) => [card.id, card.content]))
    await chats.sendMessage(owner, "deny 1", { chat: team, mentions: [BOT] })
    decided = await chats.cardWith(team, RUNS, /^Denied by owner$/)
    before = open.get(decided.id)
    await chats.settled()
  })
  afterAll(() => chats.remove())

  const personOf = (who: string): Chatter => {
    const person = people.get(who)
    if (person === undefined) throw new Error(`there is no ${who}`)
    return person
  }
  /** Texts of a chat after its first `after` messages. */
  const texts = (chat: string, after: number) =>
    chats.fake
      .botMessages(chat)
      .slice(after)
      .flatMap(({ content, type }) => (type === "text" ? [(content as { readonly text: string }).text] : []))

  const receive = async (person: Chatter, act: () => Promise<unknown>): Promise<string> => {
    const [inTeam, alone] = [chats.fake.botMessages(team).length, chats.fake.botMessages(person.chat).length]
    await act()
    await chats.settled()
    return [...texts(team, inTeam), ...texts(person.chat, alone)].join("\n")
  }

  const commands = ["status", "状态", "list", "cancel", "cancel 9", "approve", "deny", "approve 9", "deny 9"]
  it.each(["outsider", "removed"].flatMap((who) => commands.map((command) => [who, command] as const)))(
    "tells %s nothing by %j",
    async (who, command) => {
      const person = personOf(who)
      const message = await receive(person, () =>
        chats.sendMessage(person, command, { chat: team, mentions: [BOT] })
      )
      assert.notStrictEqual(message, "")
      assert.notMatch(message, TASK_TEXT)
    }
  )

  it.each(["outsider", "removed"])("tells %s nothing by a click on a card that is decided", async (who) => {
    const person = personOf(who)
    // As a client shows it that has not heard of the decision.
    decided.content = before
    const reply = await receive(person, () => chats.click(person, decided.id, "Allow once"))
    assert.notMatch(reply, TASK_TEXT)
    assert.match(reply, /^You don't have permission to do this\.$/)
  })

  it("shows the decider to a member who clicks a decided card", async () => {
    const person = personOf("member")
    decided.content = before
    const reply = await receive(person, () => chats.click(person, decided.id, "Allow once"))
    assert.strictEqual(reply, "Already decided by owner.")
  })

  it.each(["member", "viewer"])("tells a %s by status what is in progress", async (who) => {
    const person = personOf(who)
    const message = await receive(person, () =>
      chats.sendMessage(person, "status", { chat: team, mentions: [BOT] })
    )
    assert.match(message, /^1\. Atlas · .* – Needs your decision/)
  })
})
