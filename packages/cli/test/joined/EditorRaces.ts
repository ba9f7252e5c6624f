/** Decisions and answers that an editor, the console, a terminal and a chat give at the same time. */
import type { FakeMessage } from "@corral/testing/gateway/FakeMessages"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { HubClient } from "@corral/testing/hub/HubClient"
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { randomInt } from "node:crypto"
import type { Chats, Chatter } from "./Chats.ts"

/** An approval or a question of the Hub. */
interface Resolved {
  readonly id: string
  readonly state: string
  readonly origin?: string
  readonly decidedBy?: string
  readonly answeredBy?: string
  readonly answers?: Readonly<Record<string, string>>
}

/** What an editor shows of a resolved request. */
export interface ShownResolution {
  /** `approved`, `denied` or `answered`. */
  readonly state: string
  /** Such as `a chat`. */
  readonly place: string
  /** Name and id of the user. */
  readonly by: string
  readonly userId: string
}

/** An editor in a race, with what waits for its user, by number. */
export interface RacingEditor {
  /** Shows a session in which a run has begun. */
  readonly open: (session: SessionId) => Promise<unknown>
  /** Waits for an approval. Resolves with what allows it once. */
  readonly approval: (number: number) => Promise<() => unknown>
  /** Waits for a question. Resolves with what answers it with the option of that label. Absent: it races no questions. */
  readonly question?: (number: number, label: string) => Promise<() => unknown>
  /** Waits for the line of the resolution, and asserts that it names all of this. */
  readonly names: (number: number, shown: ShownResolution) => Promise<void>
  readonly close: () => unknown
}

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

const PER_RUN = 50
/** Requests that a client other than the chat makes before it decides: a click has a longer way, and would never be the first. */
const MOST_REQUESTS = 20
const TITLES = { approval: "The agent wants to change files", question: "The agent has a question" } as const
type Raced = keyof typeof TITLES
const SCRIPTS = { approval: "/ask", question: "/question Which colour? | Red | Green | Blue | Grey" } as const
/** One of this number of requests is a question, where the editor races them. */
const QUESTION_EVERY = 10
const places: Readonly<Record<string, string>> = {
  editor: "an editor",
  console: "the console",
  terminal: "a terminal",
  chat: "a chat"
}

/** Four clients with a user each. */
interface Racer {
  readonly chats: Chats
  readonly chatter: Chatter
  readonly editor: RacingEditor
  readonly browser: BrowserClient
  readonly terminal: HubClient
  readonly names: Readonly<Record<string, string>>
  /** Ids of the users, by origin. */
  readonly ids: ReadonlyMap<string, string | undefined>
  /** Cards of requests that were raced before. */
  readonly racedCards: Set<string>
}

/** The user writes in the chat; the editor opens the session that this begins. */
const beginRun = async ({ chats, chatter, editor }: Racer, requests: ReadonlyArray<Raced>): Promise<void> => {
  const sessions = async () =>
    (await chats.joined.owner.ask<Items<{ readonly id: SessionId }>>("GET", "/client/sessions?limit=200"))
      .body.items
  const before = new Set((await sessions()).map(({ id }) => id))
  await chats.sendMessage(chatter, `/new ${requests.map((kind) => SCRIPTS[kind]).join("\n")}`)
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
  await editor.open(session)
}

/** The next card with buttons for a decision, after a number of messages of the bot. */
const nextCard = async (
  { chats: { fake }, chatter, racedCards }: Racer,
  kind: Raced,
  after: number
): Promise<string> => {
  const isNext = ({ id, type }: FakeMessage): boolean =>
    type === "interactive" &&
    !racedCards.has(id) &&
    fake.shown(id).title === TITLES[kind] &&
    fake.shown(id).buttons.length > 1
  const { id } = await fake.until(() => fake.botMessages(chatter.chat).slice(after).find(isNext), 30_000)
  racedCards.add(id)
  return id
}

/** What follows from the origin of the winner. */
interface RacedOutcome {
  readonly state: string
  readonly answers?: Readonly<Record<string, string>> | undefined
  /** Start of the line of the card. */
  readonly line: string
}

/** What the clients do with a request. */
interface RacedActions {
  readonly path: string
  readonly verb: "decide" | "answer"
  readonly inConsole: object
  readonly inTerminal: object
  readonly inEditor: () => unknown
  /** Label of the button of the card. */
  readonly inChat: string
  readonly outcome: (origin: string) => RacedOutcome
}

const isAllowed = (origin: string): boolean => origin === "editor" || origin === "terminal"

const openId = async ({ chats: { joined } }: Racer, resource: string): Promise<string> =>
  until(async () => {
    const path = `/client/${resource}?state=pending&projectId=${joined.projectId}`
    return (await joined.owner.ask<Items<Resolved>>("GET", path)).body.items[0]?.id
  }, "the request")

const approvalActions = async (racer: Racer, number: number): Promise<RacedActions> => {
  const inEditor = await racer.editor.approval(number)
  return {
    path: `/client/approvals/${await openId(racer, "approvals")}`,
    verb: "decide",
    inConsole: { decision: "deny" },
    inTerminal: { decision: "allow" },
    inEditor,
    inChat: "Deny",
    outcome: (origin) =>
      isAllowed(origin) ? { state: "approved", line: "Allowed" } : { state: "denied", line: "Denied" }
  }
}

/** Ids of the options that the clients choose. */
const chosenOptions: Readonly<Record<string, string>> = {
  editor: "1",
  console: "2",
  terminal: "3",
  chat: "4"
}

const questionActions = async (racer: Racer, number: number): Promise<RacedActions> => {
  const inEditor = await racer.editor.question?.(number, "Red")
  assert.isDefined(inEditor)
  return {
    path: `/client/inputs/${await openId(racer, "inputs")}`,
    verb: "answer",
    inConsole: { answers: { "1": "2" } },
    inTerminal: { answers: { "1": "3" } },
    inEditor,
    inChat: "Grey",
    outcome: (origin) => ({
      state: "answered",
      answers: { "1": chosenOptions[origin] ?? "" },
      line: "Answered"
    })
  }
}
/** Sends one request of each client at the same time. Returns the origin that won. */
const raceOne = async (
  racer: Racer,
  kind: Raced,
  number: number,
  messagesBefore: number
): Promise<string> => {
  const { browser, chats, chatter, editor, names, terminal } = racer
  const { fake, joined } = chats
  const actions = await (kind === "approval" ? approvalActions : questionActions)(racer, number)
  const { path } = actions
  const card = await nextCard(racer, kind, messagesBefore)
  const later = async <A>(decide: () => Promise<A> | A): Promise<A> => {
    for (let left = randomInt(MOST_REQUESTS); left > 0; left--) await joined.owner.ask("GET", path)
    return decide()
  }
  const click = fake.clicks(chatter.account, card, actions.inChat)
  // For the same reason, half of the clicks are at the Gateway when the others begin.
  if (randomInt(2) === 0) await click
  const target = `${path}/${actions.verb}`
  const [inConsole, inTerminal] = await Promise.all([
    later(() => browser.ask<Resolved>("POST", target, { body: actions.inConsole })),
    later(() => terminal.ask<Resolved>("POST", target, { body: actions.inTerminal })),
    later(actions.inEditor),
    click
  ])

  // The Hub has the decision from the events of the run.
  const resolved = await until(async () => {
    const { body } = await browser.ask<Resolved>("GET", path)
    return body.state === "pending" ? undefined : body
  }, "the decision at the Hub")
  const { answeredBy, answers, decidedBy = answeredBy, origin = "", state } = resolved
  for (const { body, status, text } of [inConsole, inTerminal])
    assert.isTrue(status === 409 || body.origin === origin, `${origin}, but ${status} ${text}`)
  const outcome = actions.outcome(origin)
  assert.deepStrictEqual([state, answers], [outcome.state, outcome.answers], origin)
  assert.strictEqual(decidedBy, racer.ids.get(origin), origin)

  const by = names[origin] ?? ""
  await editor.names(number, { state, place: places[origin] ?? "", by, userId: decidedBy ?? "" })
  await fake.until(() => {
    const { buttons, lines } = fake.shown(card)
    const isNamed = lines.includes(`${outcome.line} by ${by}`)
    const isPlaced =
      kind === "question" || lines.at(-1)?.toLowerCase().endsWith(`in ${places[origin]}.`) === true
    return isNamed && buttons.length === 1 && isPlaced
  }, 30_000)
  return origin
}

/** The log of the run has one resolution of each request. */
const checkLog = async ({ chats: { joined } }: Racer, requests: number): Promise<void> => {
  const { body } = await joined.edge.client.ask("GET", "/v1/runs?limit=1")
  const [run] = Object(body).items as ReadonlyArray<{ readonly id: RunId }>
  const resolved = (await joined.edge.client.log(run?.id ?? "")).flatMap(({ payload, type }) =>
    type === "run.approval.resolved" || type === "run.input.resolved"
      ? [String(payload["approvalId"] ?? payload["inputId"])]
      : []
  )
  assert.lengthOf(resolved, requests)
  assert.lengthOf(new Set(resolved), requests)
}

/** Names of the users in the four clients, by origin. The chat is the owner's. */
export type RacerNames = Readonly<Record<"editor" | "console" | "terminal" | "chat", string>>

const onlyOwner: RacerNames = { editor: "owner", console: "owner", terminal: "owner", chat: "owner" }

const openRacer = async (chats: Chats, editor: RacingEditor, names: RacerNames): Promise<Racer> => {
  const { hub } = chats.joined
  const browser = await hub.atBrowser(names.console)
  const { token, userId } = await hub.people.signIn(names.terminal, "cli")
  const inEditor = await hub.signedIn(names.editor)
  const ids = new Map<string, string | undefined>([
    ["editor", inEditor.userId],
    ["console", browser.userId],
    ["terminal", userId],
    ["chat", chats.joined.owner.userId]
  ])
  const chatter = await chats.linked(names.chat)
  const terminal = new HubClient(hub.url, token, userId)
  return { chats, chatter, editor, browser, terminal, names, ids, racedCards: new Set() }
}

/**
 * Each request has one winner, whom the Hub, the log of the run, the editor and the card of the chat name alike. The console and the terminal
 * receive a conflict or the decision of the winner if they were late. Returns the origins of the winners.
 */
export const raceDecisions = async (
  chats: Chats,
  editor: RacingEditor,
  races: number,
  names = onlyOwner
): Promise<ReadonlyMap<string, number>> => {
  const racer = await openRacer(chats, editor, names)
  // More than people do in a second.
  chats.fake.messagesOfAll.limited = false
  const wins = new Map<string, number>()
  const kindOf = (number: number): Raced =>
    editor.question !== undefined && number % QUESTION_EVERY === QUESTION_EVERY - 1 ? "question" : "approval"
  for (let done = 0; done < races;) {
    const count = Math.min(PER_RUN, races - done)
    const kinds = Array.from({ length: count }, (_, at) => kindOf(done + at))
    const before = chats.fake.botMessages(racer.chatter.chat).length
    await beginRun(racer, kinds)
    for (const [at, kind] of kinds.entries()) {
      const origin = await raceOne(racer, kind, done + at, before)
      wins.set(origin, (wins.get(origin) ?? 0) + 1)
    }
    await chats.card(racer.chatter.chat, "Done", before)
    await checkLog(racer, count)
    done += count
  }
  await editor.close()
  return wins
}
