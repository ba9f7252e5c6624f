/** Decisions that an editor, the console, a terminal and a chat make at the same time. */
import type { FakeMessage } from "@corral/testing/gateway/FakeMessages"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { HubClient } from "@corral/testing/hub/HubClient"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { randomInt } from "node:crypto"
import { choose, type TestEditor } from "../acp/TestEditor.ts"
import type { Chats, Chatter } from "./Chats.ts"
import type { EditorHomes } from "./EditorHomes.ts"

interface Decided {
  readonly id: string
  readonly state: string
  readonly origin?: string
}

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

const PER_RUN = 50
/** Requests that a client other than the chat makes before it decides: a click has a longer way, and would never be the first. */
const MOST_REQUESTS = 20
const TITLE = "The agent wants to change files"
const places: Readonly<Record<string, string>> = {
  editor: "an editor",
  console: "the console",
  terminal: "a terminal",
  chat: "a chat"
}

/** One user in four clients. */
interface Racer {
  readonly chats: Chats
  readonly chatter: Chatter
  readonly editor: TestEditor
  readonly browser: BrowserClient
  readonly terminal: HubClient
  /** Cards of approvals that were raced before. */
  readonly racedCards: Set<string>
}

/** The user writes in the chat; the editor opens the session that this begins. */
const beginRun = async ({ chats, chatter, editor }: Racer, approvals: number): Promise<void> => {
  const sessions = async () =>
    (await chats.joined.owner.ask<Items<{ readonly id: string }>>("GET", "/client/sessions?limit=200")).body
      .items
  const before = new Set((await sessions()).map(({ id }) => id))
  await chats.sendMessage(chatter, `/new ${Array.from({ length: approvals }, () => "/ask").join("\n")}`)
  const session = await until(async () => {
    const id = (await sessions()).find((each) => !before.has(each.id))?.id
    if (id === undefined) return undefined
    // A session exists before its agent.
    const { body } = await chats.joined.owner.ask<{ readonly agents: ReadonlyArray<unknown> }>(
      "GET",
      `/client/sessions/${id}`
    )
    return body.agents.length === 0 ? undefined : id
  }, "the session of the chat")
  await editor.load(session)
}

/** The next card with buttons for a decision, after a number of messages of the bot. */
const nextCard = async ({ chats: { fake }, chatter, racedCards }: Racer, after: number): Promise<string> => {
  const isNext = ({ id, type }: FakeMessage): boolean =>
    type === "interactive" &&
    !racedCards.has(id) &&
    fake.shown(id).title === TITLE &&
    fake.shown(id).buttons.length > 1
  const { id } = await fake.until(() => fake.botMessages(chatter.chat).slice(after).find(isNext), 30_000)
  racedCards.add(id)
  return id
}

/** Decides the only open approval in all clients. Returns the origin that won. */
const raceOne = async (racer: Racer, number: number, messagesBefore: number): Promise<string> => {
  const { browser, chats, chatter, editor, terminal } = racer
  const { fake, joined } = chats
  const dialog = await editor.permission(number)
  const id = await until(async () => {
    const path = `/client/approvals?state=pending&projectId=${joined.projectId}`
    return (await joined.owner.ask<Items<Decided>>("GET", path)).body.items[0]?.id
  }, "the approval")
  const path = `/client/approvals/${id}`
  const card = await nextCard(racer, messagesBefore)
  const later = async <A>(decide: () => Promise<A> | A): Promise<A> => {
    for (let left = randomInt(MOST_REQUESTS); left > 0; left--) await joined.owner.ask("GET", path)
    return decide()
  }
  const click = fake.clicks(chatter.account, card, "Deny")
  // For the same reason, half of the clicks are at the Gateway when the others begin.
  if (randomInt(2) === 0) await click
  const [inConsole, inTerminal] = await Promise.all([
    later(() => browser.ask<Decided>("POST", `${path}/decide`, { body: { decision: "deny" } })),
    later(() => terminal.ask<Decided>("POST", `${path}/decide`, { body: { decision: "allow" } })),
    later(() => choose(dialog, "allow_once")),
    click
  ])

  // The Hub has the decision from the events of the run.
  const { origin = "", state } = await until(async () => {
    const { body } = await browser.ask<Decided>("GET", path)
    return body.state === "pending" ? undefined : body
  }, "the decision at the Hub")
  for (const { body, status, text } of [inConsole, inTerminal])
    assert.isTrue(status === 409 || body.origin === origin, `${origin}, but ${status} ${text}`)
  const isAllowed = origin === "editor" || origin === "terminal"
  assert.strictEqual(state, isAllowed ? "approved" : "denied", origin)

  const line = `${state} by you in ${places[origin]}`
  const named = await until(
    async () => editor.text.split("An approval without an effect: ")[number + 1],
    "the line of the decision"
  )
  assert.isTrue(named.startsWith(line), `${line}, but ${named}`)
  await fake.until(() => {
    const { buttons, lines } = fake.shown(card)
    const isNamed = lines.includes(`${isAllowed ? "Allowed" : "Denied"} by ${chatter.name}`)
    return isNamed && buttons.length === 1 && lines.at(-1)?.toLowerCase().endsWith(`in ${places[origin]}.`)
  }, 30_000)
  return origin
}

/**
 * Each approval has one winner, whom the Hub, the log of the run, the editor and the card of the chat name alike. The console and the terminal
 * receive a conflict or the decision of the winner if they were late. Returns the origins of the winners.
 */
export const raceDecisions = async (
  chats: Chats,
  homes: EditorHomes,
  races: number
): Promise<ReadonlyMap<string, number>> => {
  const { joined } = chats
  const { token, userId } = await joined.hub.people.signIn("owner", "cli")
  const racer = {
    chats,
    chatter: await chats.linked("owner"),
    editor: await homes.open(joined.owner),
    browser: await joined.hub.atBrowser("owner"),
    terminal: new HubClient(joined.hub.url, token, userId),
    racedCards: new Set<string>()
  }
  // More than people do in a second.
  chats.fake.messagesOfAll.limited = false
  const wins = new Map<string, number>()
  for (let done = 0; done < races;) {
    const count = Math.min(PER_RUN, races - done)
    const before = chats.fake.botMessages(racer.chatter.chat).length
    await beginRun(racer, count)
    for (let at = 0; at < count; at++) {
      const origin = await raceOne(racer, done + at, before)
      wins.set(origin, (wins.get(origin) ?? 0) + 1)
    }
    await chats.card(racer.chatter.chat, "Done", before)
    done += count
  }
  await racer.editor.close()
  return wins
}
