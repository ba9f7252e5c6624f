/**
 * Cards in a chat after random losses of requests to the platform and of their responses, on Feishu and on Slack. No card has an old state,
 * and no ended run or approval has an active button. The seed is in the name of each test.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"
import { SlackChats } from "./SlackChats.ts"

const seeds = Array.from({ length: effort }, (_, at) => 8 + at)

/** Loses four in ten of the calls that send or update messages: the request or the response. */
const lossOf = (seed: number) => {
  let state = seed
  const next = () => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
  return (call: string) => {
    if (!["send", "reply", "patch", "chat.postMessage", "chat.update"].includes(call)) return undefined
    const card = next()
    return card < 0.3 ? "response" : card < 0.4 ? "request" : undefined
  }
}

const none = () => undefined

describe("cards, while responses are lost", () => {
  let chats: Chats
  let owner: Chatter
  let slack: SlackChats

  beforeAll(async () => {
    slack = await SlackChats.open()
    chats = await Chats.open({ gatewayEnv: slack.env })
    owner = await chats.linked("owner")
    await slack.link(chats)
  })
  afterAll(async () => {
    await chats.remove()
    await slack.stop()
  })

  /** Every task that was followed has ended, and its last card is drawn. */
  const allFollowed = (tasks: number) =>
    until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.follows WHERE ended_at IS NOT NULL")) === tasks ||
        undefined,
      `the end of ${tasks} follows`,
      120_000
    )
  const follows = () => chats.gateway.count("FROM corral_gateway.follows")

  it.each(seeds)("ends in cards of what has ended on Feishu, seed %i", async (seed) => {
    const before = await follows()
    const team = chats.fake.group(`oc_lossy_${seed}`)
    chats.fake.api.loss = lossOf(seed)
    for (const what of ["/say a", `/write lost-${seed}.txt a`, "/say b"])
      await chats.sendMessage(owner, `/run ${what}`, { chat: team, mentions: [BOT] })
    await until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.approval_cards WHERE state = 'pending'")) === 1 ||
        undefined,
      "the approval",
      60_000
    )
    await chats.sendMessage(owner, "approve", { chat: team, mentions: [BOT] })
    await allFollowed(before + 3)
    chats.fake.api.loss = none
    await chats.settled()
    const shown = chats.fake
      .botMessages(team)
      .filter(({ type }) => type === "interactive")
      .map(({ id }) => chats.fake.shown(id))
    assert.deepStrictEqual(
      shown.map(({ title }) => title).toSorted(),
      ["Done", "Done", "Done", "The agent wants to change files"],
      JSON.stringify(shown)
    )
    assert.deepStrictEqual(
      shown.flatMap(({ buttons }) => buttons).filter(({ value }) => value !== undefined),
      []
    )
    assert.include(JSON.stringify(shown), "Allowed by owner")
    // A retry sends the answer that was decided.
    const texts = chats.fake.botMessages(team).filter(({ type }) => type === "text")
    assert.deepStrictEqual(
      texts.map(({ content }) => content),
      [{ text: "Allowed." }]
    )
  })

  it.each(seeds)("ends in cards of what has ended on Slack, seed %i", async (seed) => {
    const before = await follows()
    slack.slack.loss = lossOf(seed)
    await slack.send(chats, `/new /write slack-lost-${seed}.txt a`)
    await until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.approval_cards WHERE state = 'pending'")) === 1 ||
        undefined,
      "the approval",
      60_000
    )
    await slack.send(chats, "approve")
    await allFollowed(before + 1)
    slack.slack.loss = none
    await chats.settled()
    const buttons = slack.all().flatMap(({ blocks }) => blocks.flatMap(({ elements }) => elements ?? []))
    assert.deepStrictEqual(
      buttons.filter(({ url }) => url === undefined),
      []
    )
    const stale = slack
      .all()
      .filter((each) =>
        /Waiting for|Starting|等待机器|等待决定|正在启动|Running|进行中/.test(
          JSON.stringify([each.blocks, each.text])
        )
      )
    assert.deepStrictEqual(stale, [])
    assert.isTrue(slack.all().some(({ text }) => text === "Allowed." || text === "已允许。"))
    assert.isFalse(slack.all().some(({ text }) => text === "这里没有等待决定的请求。"))
  })
})
