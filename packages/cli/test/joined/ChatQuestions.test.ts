/** Questions, plans and background work in chats, over real processes: on Feishu and Slack, by one and by several users. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubInput, HubRun } from "@corral/domain/hub-api/HubRun"
import { BOT } from "@corral/testing/gateway/FakeFeishu"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"
import { SlackChats } from "./SlackChats.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

const ASKS = "The agent has a question"

describe("questions in a chat", () => {
  let chats: Chats
  let slack: SlackChats
  let owner: Chatter
  let team: string
  beforeAll(async () => {
    slack = await SlackChats.open()
    chats = await Chats.open({ gatewayEnv: slack.env })
    owner = await chats.linked("owner")
    await slack.link(chats)
    team = chats.fake.group("oc_team")
  })
  afterAll(async () => {
    await chats.remove()
    await slack.stop()
  })

  const get = async <A>(path: string): Promise<A> => (await chats.joined.owner.ask<A>("GET", path)).body
  const openInputs = async () => (await get<Items<HubInput>>("/client/inputs?state=pending&limit=200")).items
  /** The only open question. */
  const openInput = () =>
    until(async () => {
      const [input, ...more] = await openInputs()
      return more.length === 0 ? input : undefined
    }, "one open question")
  const answerOf = async (id: string): Promise<HubInput> =>
    until(async () => {
      const input = await get<HubInput>(`/client/inputs/${id}`)
      return input.state === "pending" ? undefined : input
    }, "an answer")
  const labels = (id: string) => chats.fake.shown(id).buttons.map(({ label }) => label)
  /** Asks in the direct chat of the owner, and gives the card. */
  const ask = async (script: string, title = ASKS) => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, `/run ${script}`)
    const card = await chats.card(owner.chat, title, before)
    return { before, card, id: (await openInput()).id }
  }

  it("are answered by a button, and the card says by whom", async () => {
    const { before, card, id } = await ask("/question Which colour? | Red | Blue")
    assert.deepStrictEqual(labels(card.id), ["Red", "Blue", "Skip", "Open in Corral"])
    await chats.click(owner, card.id, "Blue")
    const { answeredBy, answers, origin, state } = await answerOf(id)
    assert.deepStrictEqual(
      [state, answers, origin, answeredBy],
      ["answered", { "1": "2" }, "chat", chats.joined.owner.userId]
    )
    const resolved = await chats.cardWith(owner.chat, ASKS, /^Answered by owner$/)
    assert.deepStrictEqual(labels(resolved.id), ["Open in Corral"])
    await chats.botText(owner.chat, /answered/, before)
  })

  it("take several options and a text of the person from the fields of the card", async () => {
    const { card, id } = await ask("/question Which tools? | ?Lint | Test | Build")
    assert.deepStrictEqual(chats.fake.shown(card.id).fields, ["q0", "q0-other"])
    await chats.click(owner, card.id, "Send answer")
    assert.lengthOf(await openInputs(), 1)
    await chats.click(owner, card.id, "Send answer", {
      form: { q0: ["0", "2"], "q0-other": "and docs" }
    })
    assert.deepStrictEqual((await answerOf(id)).answers, { "1": ["1", "3", { other: "and docs" }] })
  })

  it("offer a reply as the answer, and never take it by themselves", async () => {
    const { before, id } = await ask("/question What is its name?")
    await chats.sendMessage(owner, "Corral")
    const offer = await chats.card(owner.chat, "Is this your answer?", before)
    assert.strictEqual((await openInput()).id, id)
    await chats.click(owner, offer.id, "Answer with this text")
    assert.deepStrictEqual((await answerOf(id)).answers, { "1": "Corral" })
    await chats.cardWith(owner.chat, "Is this your answer?", /^It was sent as the answer\.$/)
  })

  it("can be skipped", async () => {
    const { card, id } = await ask("/question Which colour? | Red")
    await chats.click(owner, card.id, "Skip")
    const { answers, state } = await answerOf(id)
    assert.deepStrictEqual([state, answers], ["declined", undefined])
  })

  it("are a link where a chat stores what is written, or has other readers", async () => {
    const secret = await ask("/secret Token?")
    assert.deepStrictEqual(labels(secret.card.id), ["Open in Corral"])
    await chats.joined.owner.ask("POST", `/client/inputs/${secret.id}/answer`, { body: { decline: true } })
    await answerOf(secret.id)

    const sent = await chats.sendMessage(owner, "/run /question Which colour? | Red", {
      chat: team,
      mentions: [BOT]
    })
    const card = await chats.card(team, ASKS)
    assert.deepStrictEqual(labels(card.id), ["Open in Corral"])
    assert.notInclude(JSON.stringify(chats.fake.message(card.id)), "Which colour?")
    assert.isDefined(sent.id)
    const { id } = await openInput()
    await chats.joined.owner.ask("POST", `/client/inputs/${id}/answer`, { body: { decline: true } })
    await chats.cardWith(team, ASKS, /^Skipped by owner$/)
  })

  it("are refused for users without access, and answered once", async () => {
    const stranger = await chats.linked("nelly")
    const { card, id } = await ask("/question Which colour? | Red | Blue")
    await chats.click(stranger, card.id, "Red")
    await chats.botText(stranger.chat, /permission/)
    assert.strictEqual((await openInput()).id, id)
    await Promise.all([chats.click(owner, card.id, "Red"), chats.click(owner, card.id, "Blue")])
    const { answers } = await answerOf(id)
    assert.include(["1", "2"], answers?.["1"])
  })

  it("hand over plans, which are sent back with a comment or approved", async () => {
    const { card, id } = await ask("/plan Read the notes\n/say after", "The agent has a plan")
    assert.deepStrictEqual(labels(card.id), ["Approve", "Send back", "Open in Corral"])
    await chats.click(owner, card.id, "Send back", { form: { comment: "Test it first" } })
    const { approved, comment } = await answerOf(id)
    assert.deepStrictEqual([approved, comment], [false, "Test it first"])
    await chats.cardWith(owner.chat, "The agent has a plan", /^Sent back by owner$/)
  })

  it("show background work with a button that finishes it, and the text of each turn once", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/run /work dev command npm run dev\n/say started\n/end-turn\n/hang")
    await chats.botText(owner.chat, /^started$/, before)
    const card = await chats.cardWith(
      owner.chat,
      "Working in the background",
      /^Working in the background: 1$/
    )
    assert.notInclude(JSON.stringify(chats.fake.message(card.id)), "npm run dev")
    await until(async () => (labels(card.id).includes("Finish") ? true : undefined), "Finish")
    await chats.click(owner, card.id, "Finish")
    const [run] = (await get<Items<HubRun>>("/client/runs?limit=1")).items
    await chats.fake.until(() => chats.fake.shown(card.id).title === "Done" || undefined, 30_000)
    assert.isDefined(run)
    await chats.settled()
    const texts = chats.fake
      .botMessages(owner.chat)
      .slice(before)
      .filter(({ content, type }) => type === "text" && JSON.stringify(content).includes("started"))
    assert.lengthOf(texts, 1)
  })

  it("are answered on Slack", async () => {
    await slack.send(chats, "/run /question Which colour? | Red | Blue")
    const card = await slack.message(
      ({ blocks }) => JSON.stringify(blocks).includes("Which colour?"),
      "a question"
    )
    const { id } = await openInput()
    const sent = slack.slack.clickOn(card.ts, 1)
    await slack.slack.push(`${chats.gateway.url}/integrations/slack/card-actions`, () => sent)
    assert.deepStrictEqual((await answerOf(id)).answers, { "1": "2" })
    await slack.message(
      ({ blocks }) => /Answered by owner|owner 已回答/u.test(JSON.stringify(blocks)),
      "the answer"
    )
  })
})
