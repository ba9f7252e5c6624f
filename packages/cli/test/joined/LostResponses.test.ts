/**
 * Cards in a chat after random losses of requests to the platform and of their responses, on Feishu and on Slack. No card has an old state,
 * and no ended run or approval has an active button. The seed is in the name of each test.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import { FakeSlack } from "@corral/testing/gateway/FakeSlack"
import {
  SLACK_APP,
  BOT_TOKEN,
  callback,
  direct,
  pushedEvent,
  SLACK_SECRET,
  TEAM
} from "@corral/testing/gateway/SlackRequests"
import { Person } from "@corral/testing/hub/Chats"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"

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

describe("cards, while responses are lost", { timeout: 180_000 }, () => {
  let chats: Chats
  let owner: Chatter
  let slack: FakeSlack
  let events = 0

  const saysOnSlack = async (text: string) => {
    events += 1
    const event = callback(direct(text, { ts: `1790000${100 + events}.000100` }), { event_id: `Ev${events}` })
    await slack.push(`${chats.gateway.url}/integrations/slack/events`, () => pushedEvent(event))
  }
  const onSlack = () => [...slack.messages.values()]

  const linkOnSlack = async () => {
    await saysOnSlack("hello")
    const url = await until(
      async () =>
        onSlack()
          .flatMap(({ blocks }) => blocks.flatMap(({ elements }) => elements ?? []))
          .find(({ url }) => url?.includes("/link/"))?.url,
      "a link"
    )
    const code = url.slice(url.lastIndexOf("/") + 1)
    const person = await Person.signedIn(chats.joined.hub, "owner")
    await person.open(code)
    const confirmed = await person.confirm(code)
    await saysOnSlack((confirmed.body as { readonly number: string }).number)
    await until(async () => onSlack().find(({ text }) => /已关联|Linked/.test(text)), "the link")
  }

  beforeAll(async () => {
    slack = await FakeSlack.start()
    chats = await Chats.open({
      gatewayEnv: {
        CORRAL_SLACK_APP_ID: SLACK_APP,
        CORRAL_SLACK_SIGNING_SECRET: SLACK_SECRET,
        CORRAL_SLACK_BOT_TOKEN: BOT_TOKEN,
        CORRAL_SLACK_TEAMS: TEAM,
        CORRAL_SLACK_DOMAIN: slack.url
      }
    })
    owner = await chats.linked("owner")
    await linkOnSlack()
  }, 120_000)
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
    slack.loss = lossOf(seed)
    await saysOnSlack(`/new /write slack-lost-${seed}.txt a`)
    await until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.approval_cards WHERE state = 'pending'")) === 1 ||
        undefined,
      "the approval",
      60_000
    )
    await saysOnSlack("approve")
    await allFollowed(before + 1)
    slack.loss = none
    await chats.settled()
    const buttons = onSlack().flatMap(({ blocks }) => blocks.flatMap(({ elements }) => elements ?? []))
    assert.deepStrictEqual(
      buttons.filter(({ url }) => url === undefined),
      []
    )
    const stale = onSlack().filter((each) =>
      /Waiting for|等待机器|等待决定|Running|进行中/.test(JSON.stringify([each.blocks, each.text]))
    )
    assert.deepStrictEqual(stale, [])
    assert.isTrue(onSlack().some(({ text }) => text === "Allowed." || text === "已允许。"))
    assert.isFalse(onSlack().some(({ text }) => text === "这里没有等待决定的请求。"))
  })
})
