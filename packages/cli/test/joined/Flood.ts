/**
 * A group in which accounts that are not linked flood the bot while members decide: over real processes, a Gateway, a Hub and an Edge.
 */
import { assert } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import type { FakeMessage } from "@corral/testing/gateway/FakeMessages"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"

export interface FloodOptions {
  /** Accounts that flood, and what they send together. */
  readonly strangers: number
  readonly messages: number
  /** Clicks of the same accounts on the cards that members decide. */
  readonly clicks: number
  /** Decisions by members, one after the other. */
  readonly taps: number
}

export interface FloodFigures {
  /** From a member's tap until the agent has done what was allowed, in milliseconds. */
  readonly executed: ReadonlyArray<number>
  /** From a member's tap until the card shows it. */
  readonly shown: ReadonlyArray<number>
  /** Answers in the direct chat of each stranger. */
  readonly answers: ReadonlyArray<number>
  readonly floodMillis: number
}

const WRITES = "The agent wants to change files"

/** Events that the platform sends before the first of them is acknowledged. */
const IN_FLIGHT = 100

/** The approval card of each file, one after the other: a run asks for the next one once the previous one is decided. */
const cardOf = (chats: Chats, team: string, at: number) =>
  chats.fake.until(
    () =>
      chats.fake
        .botMessages(team)
        .filter(({ id, type }) => type === "interactive" && chats.fake.shown(id).title === WRITES)[at],
    60_000
  )

/** Sends until the Gateway has everything; a platform sends what is not acknowledged again. */
const flood = async (
  chats: Chats,
  strangers: ReadonlyArray<Chatter>,
  team: string,
  cards: ReadonlyArray<FakeMessage>,
  { clicks, messages }: FloodOptions
) => {
  const begin = performance.now()
  const of = (at: number) => strangers[at % strangers.length]?.account ?? ""
  let sent = 0
  const sendOn = async (): Promise<void> => {
    if (sent >= messages) return
    const at = sent++
    assert.isTrue(await chats.fake.sendMessage(of(at), team, `message ${at}`, { mentions: [BOT] }).taken)
    return sendOn()
  }
  const sending = Promise.all(Array.from({ length: IN_FLIGHT }, sendOn))
  for (let at = 0; at < clicks; at++) {
    const card = cards[at % cards.length]
    if (card !== undefined) await chats.fake.clicks(of(at), card.id, "Deny").catch(() => undefined)
  }
  await sending
  await chats.gateway.settled(0, 240_000)
  return performance.now() - begin
}

export const flooded = async (options: FloodOptions): Promise<FloodFigures> => {
  const chats = await Chats.open()
  try {
    const owner = await chats.linked("owner")
    const mara = await chats.linked("mara", "member")
    const team = chats.fake.group("oc_team")
    const strangers = Array.from({ length: options.strangers }, (_, at) => chats.stranger(`sly${at}`))
    const files = Array.from({ length: options.taps }, (_, at) => `flood-${at}.txt`)
    const script = files.map((file) => `/write ${file} a`).join("\n")
    await chats.sendMessage(owner, `/run ${script}`, { chat: team, mentions: [BOT] })
    const cards: Array<FakeMessage> = [await cardOf(chats, team, 0)]
    const [executed, shown]: [Array<number>, Array<number>] = [[], []]
    const over = flood(chats, strangers, team, cards, options)
    for (const at of files.keys()) {
      const card = await cardOf(chats, team, at)
      if (at > 0) cards.push(card)
      const begin = performance.now()
      const member = at % 2 === 0 ? owner : mara
      const { status } = await chats.fake.clicks(member.account, card.id, "Allow once")
      assert.strictEqual(status, 200)
      const path = join(chats.joined.edge.workspace, files[at] ?? "")
      await until(async () => existsSync(path) || undefined, `what tap ${at} allows`, 60_000)
      executed.push(Math.round(performance.now() - begin))
      await chats.fake.until(() =>
        chats.fake.shown(card.id).lines.some((line) => line.startsWith("Allowed by "))
      )
      shown.push(Math.round(performance.now() - begin))
    }
    const floodMillis = Math.round(await over)
    assert.strictEqual(await chats.gateway.count("FROM corral_gateway.inbox WHERE done_at IS NULL"), 0)
    assert.strictEqual(await chats.gateway.count("FROM corral_gateway.dead_letters"), 0)
    return {
      executed,
      shown,
      floodMillis,
      answers: strangers.map(({ chat }) => chats.fake.botMessages(chat).length)
    }
  } finally {
    await chats.remove()
  }
}
