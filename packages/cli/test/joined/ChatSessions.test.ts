/** Chats as sessions, over real processes: turns of a thread on Feishu and Slack, restarts, offline machines, commands and answers. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import type { SessionItem } from "@corral/domain/session/Session"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { APP, BOT, TENANT } from "@corral/testing/gateway/FakeFeishu"
import { until } from "@corral/testing/time/Until"
import { type Chatter, Chats } from "./Chats.ts"
import { SlackChats } from "./SlackChats.ts"

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

const turns = ["one", "two", "three", "four", "five"]

describe("a session in a chat", () => {
  let chats: Chats
  let slack: SlackChats
  const folder = mkdtempSync(join(tmpdir(), "corral-chats-"))
  let owner: Chatter
  let team: string
  beforeAll(async () => {
    slack = await SlackChats.open()
    writeFileSync(
      join(folder, "edge.config.json"),
      JSON.stringify({ profiles: [{ id: "careful", label: "Careful", adapter: "scripted", mode: "ask" }] }),
      { mode: 0o600 }
    )
    chats = await Chats.open({
      gatewayEnv: slack.env,
      joined: { edge: { env: { CORRAL_EDGE_CONFIG_FILE: join(folder, "edge.config.json") } } }
    })
    owner = await chats.linked("owner")
    await slack.link(chats)
    team = chats.fake.group("oc_team")
    await setAnswers("all")
  })
  afterAll(async () => {
    await chats.remove()
    await slack.stop()
    rmSync(folder, { recursive: true })
  })

  const setAnswers = async (answers: string) => {
    const { owner: client, projectId } = chats.joined
    const changed = await client.ask("PATCH", `/client/projects/${projectId}`, {
      body: { chats: { answers } }
    })
    assert.strictEqual(changed.status, 200, changed.text)
  }
  const sessions = async () =>
    (await chats.joined.owner.ask<Items<SessionItem>>("GET", "/client/sessions?limit=200")).body.items
  const messages = async (id: string) =>
    (
      await chats.joined.owner.ask<Items<Message>>("GET", `/client/sessions/${id}/messages?limit=200`)
    ).body.items.toReversed()
  const latestSession = async () => {
    const [latest] = await sessions()
    assert.isDefined(latest)
    return latest
  }
  const textsIn = (chat: string, after = 0) =>
    chats.fake
      .botMessages(chat)
      .slice(after)
      .flatMap(({ content, type }) => (type === "text" ? [(content as { readonly text: string }).text] : []))

  /** Each message reached the agent once and in order, and each has one answer. */
  const isOneConversation = async (id: string) => {
    const found = await messages(id)
    const textsBy = (kind: string) =>
      found.flatMap(({ author, text }) => (author.kind === kind ? [text.trim()] : []))
    assert.deepStrictEqual([textsBy("user"), textsBy("agent")], [turns.map((turn) => `/say ${turn}`), turns])
    const sent = found.filter(({ author }) => author.kind === "user")
    assert.deepStrictEqual<ReadonlyArray<unknown>>(
      sent.map(({ delivery, mode }) => [delivery?.state, delivery?.context, mode]),
      turns.map((_, at) => ["delivered", at === 0 ? "new" : "resumed", "ask"])
    )
    assert.strictEqual(new Set(sent.map(({ delivery }) => delivery?.runId)).size, turns.length)
  }

  it("keeps five turns of a thread in one session, on Feishu and on Slack, though the Gateway is killed", async () => {
    const [count, before] = [(await sessions()).length, chats.fake.botMessages(team).length]
    const isAnsweredOnSlack = (thread: string, turn: string) =>
      until(async () => slack.textsIn(thread).includes(turn) || undefined, `the answer ${turn}`, 30_000)
    const { id: root } = await chats.sendMessage(owner, "/run /say one", { chat: team, mentions: [BOT] })
    const thread = await slack.send(chats, "/run /say one", {})
    const sendTurn = async (turn: string) => {
      await chats.sendMessage(owner, `/run /say ${turn}`, { chat: team, mentions: [BOT], thread: root })
      await slack.send(chats, `/run /say ${turn}`, { thread })
    }
    await chats.botText(team, /^one$/, before)
    await isAnsweredOnSlack(thread, "one")
    await sendTurn("two")
    await sendTurn("three")
    await chats.gateway.end("SIGKILL")
    await chats.restartGateway()
    await sendTurn("four")
    await sendTurn("five")
    await chats.botText(team, /^five$/, before)
    await isAnsweredOnSlack(thread, "five")
    assert.deepStrictEqual(textsIn(team, before), turns)
    // Slack has no idempotency key: an answer may have been sent twice by a Gateway that was killed.
    assert.deepStrictEqual([...new Set(slack.textsIn(thread))], turns)
    const found = await sessions()
    assert.strictEqual(found.length, count + 2)
    for (const { id } of found.slice(0, 2)) await isOneConversation(id)
  })

  it("continues for another member in the thread, and not for others", async () => {
    const [mara, otto] = [await chats.linked("mara", "member"), await chats.linked("otto")]
    const before = chats.fake.botMessages(team).length
    const first = await chats.sendMessage(owner, "/run /say first", { chat: team, mentions: [BOT] })
    await chats.botText(team, /^first$/, before)
    const inThread = { chat: team, mentions: [BOT], thread: first.id }
    await chats.sendMessage(mara, "/run /say second", inThread)
    await chats.botText(team, /^second$/, before)
    const { id } = await latestSession()
    const authors = (await messages(id)).flatMap(({ author }) =>
      author.kind === "user" ? [author.userId] : []
    )
    assert.strictEqual(new Set(authors).size, 2)
    for (const text of ["/run /say third", "/new", "/new /say third", "/stop", "/agent scripted"]) {
      const before = textsIn(team).length
      await chats.sendMessage(otto, text, inThread)
      await chats.settled()
      const [answer] = textsIn(team).slice(before)
      assert.match(answer ?? "", /^You don't have access to the session of this thread\./, text)
    }
    assert.strictEqual((await messages(id)).length, 4)
  })

  it("posts answers only where the project allows it", async () => {
    for (const [answers, inTeam, alone] of [
      ["direct", false, true],
      ["none", false, false],
      ["all", true, true]
    ] as const) {
      await setAnswers(answers)
      const before = [chats.fake.botMessages(team).length, chats.fake.botMessages(owner.chat).length] as const
      await chats.sendMessage(owner, `/run /say in ${answers}`, { chat: team, mentions: [BOT] })
      await chats.sendMessage(owner, `/new /say in ${answers}`)
      await chats.card(team, "Done", before[0])
      await chats.card(owner.chat, "Done", before[1])
      await until(
        async () =>
          (await chats.gateway.count("FROM corral_gateway.follows WHERE ended_at IS NULL")) === 0 ||
          undefined,
        "the end of both follows"
      )
      assert.deepStrictEqual(
        [textsIn(team, before[0]), textsIn(owner.chat, before[1])],
        [inTeam ? [`in ${answers}`] : [], alone ? [`in ${answers}`] : []]
      )
    }
  })

  it("sends a text with ! to the run in progress, and other messages as the next turn", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /wait\n/say bye")
    await chats.card(owner.chat, "Running", before)
    await chats.sendMessage(owner, "/run /say later")
    await chats.card(owner.chat, "Waiting for its turn", before)
    await chats.sendMessage(owner, "!now")
    await chats.botText(owner.chat, /^Sent to the agent\.$/, before)
    await chats.botText(owner.chat, /^later$/, before)
    const found = await messages((await latestSession()).id)
    assert.deepStrictEqual(
      found.flatMap(({ author, delivery, text, when }) =>
        author.kind === "user" ? [[text, when, delivery?.state]] : []
      ),
      [
        ["/wait\n/say bye", "next", "delivered"],
        ["/say later", "next", "delivered"],
        ["now", "now", "delivered"]
      ]
    )
    // Without a run in progress it is the next turn.
    const after = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "! /say alone")
    await chats.botText(owner.chat, /^alone$/, after)
  })

  it("limits the turns of a chat, and says what stopped one", async () => {
    await chats.sendMessage(owner, "/new")
    await chats.sendMessage(owner, "limit turns=2")
    await chats.botText(owner.chat, /^There is no session here yet\./)
    await chats.sendMessage(owner, "/new /say ready")
    await chats.botText(owner.chat, /^ready$/)
    const { id } = await latestSession()
    await chats.sendMessage(owner, "limit")
    await chats.botText(owner.chat, /^\S+( \S+)? has no limits here\.$/)
    await chats.sendMessage(owner, "limit turns=2 turns=3")
    await chats.botText(owner.chat, /^Limits are tokens=/)
    await chats.sendMessage(owner, "limit turns=2 time=90s")
    await chats.botText(owner.chat, /^Limits of each turn of .+: turns=2 time=90s$/)
    await chats.sendMessage(owner, "/run /use 1\n/use 1\n/sleep 60000")
    await chats.cardWith(owner.chat, "Failed", /^The run used up its budget\.$/)
    const sent = (await messages(id)).find(({ text }) => text.startsWith("/use"))
    assert.deepStrictEqual(sent?.budget, { turns: 2, wallMs: 90_000 })
  })

  it("stops the run and everything that waits behind it", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/stop")
    await chats.botText(owner.chat, /^Nothing is in progress here\.$/, before)
    await chats.sendMessage(owner, "/new /wait")
    await chats.card(owner.chat, "Running", before)
    await chats.sendMessage(owner, "/run /say never")
    await chats.card(owner.chat, "Waiting for its turn", before)
    await chats.sendMessage(owner, "/stop")
    await chats.botText(owner.chat, /^Stopping\.$/, before)
    await until(
      async () =>
        (await chats.gateway.count("FROM corral_gateway.follows WHERE ended_at IS NULL")) === 0 || undefined,
      "the end of both messages"
    )
    const found = (await messages((await latestSession()).id)).filter(({ author }) => author.kind === "user")
    assert.deepStrictEqual(
      found.map(({ delivery }) => delivery?.state),
      ["delivered", "withdrawn"]
    )
    assert.notInclude(textsIn(owner.chat, before), "never")
  })

  it("holds what waits behind a failed run, until it is continued here", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /wait\n/fail on purpose")
    await chats.card(owner.chat, "Running", before)
    await chats.sendMessage(owner, "/run /say held")
    await chats.card(owner.chat, "Waiting for its turn", before)
    await chats.sendMessage(owner, "!go on")
    await chats.card(owner.chat, 'Held. Say "continue" to send it', before)
    await chats.sendMessage(owner, "continue")
    await chats.botText(owner.chat, /^The held messages are sent now\.$/, before)
    await chats.botText(owner.chat, /^held$/, before)
    // Without held messages, the word is one for the agent.
    await chats.sendMessage(owner, "/continue")
    await chats.botText(owner.chat, /^No messages are held here\.$/, before)
    const { id } = await latestSession()
    await chats.sendMessage(owner, "continue")
    await until(
      async () => (await messages(id)).some(({ text }) => text === "continue") || undefined,
      "the word as a message"
    )
    await chats.sendMessage(owner, "/stop")
    await chats.botText(owner.chat, /^Stopping\.$/, before)
  })

  it("starts a new session after /new, and adds an agent by /agent", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const earlier = await latestSession()
    await chats.sendMessage(owner, "/new")
    await chats.botText(owner.chat, /^The next message here starts a new session\.$/, before)
    await chats.sendMessage(owner, "/run /say begun")
    await chats.botText(owner.chat, /^begun$/, before)
    const session = await latestSession()
    assert.notStrictEqual(session.id, earlier.id)
    assert.strictEqual(session.title, "/say begun")
    const agents = async () =>
      (
        await chats.joined.owner.ask<{ readonly agents: ReadonlyArray<{ readonly agentId: string }> }>(
          "GET",
          `/client/sessions/${session.id}`
        )
      ).body.agents.map(({ agentId }) => agentId)
    await chats.sendMessage(owner, "/agent nothing")
    await chats.botText(owner.chat, /^There is no such agent\. Agents at this location: .*careful/, before)
    await chats.sendMessage(owner, "/agent scripted")
    await chats.botText(owner.chat, /^Messages here now go to .*Scripted/, before)
    assert.deepStrictEqual(await agents(), ["scripted"])
    await chats.sendMessage(owner, "/agent careful")
    await chats.botText(owner.chat, /^Messages here now go to .*Careful\.$/, before)
    assert.deepStrictEqual(await agents(), ["scripted", "careful"])
    await chats.sendMessage(owner, "/run /say carefully")
    await chats.botText(owner.chat, /^carefully$/, before)
    // An agent that the session has is chosen, not added again.
    await chats.sendMessage(owner, "/agent scripted")
    await chats.sendMessage(owner, "/run /say as before")
    await chats.botText(owner.chat, /^as before$/, before)
    assert.deepStrictEqual(await agents(), ["scripted", "careful"])
    const sent = (await messages(session.id)).flatMap(({ author, delivery }) =>
      author.kind === "user" ? [delivery?.context] : []
    )
    assert.deepStrictEqual(sent, ["new", "new", "resumed"])
  })

  it("follows a task of the previous release to its end", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const task = await chats.joined.tryTask({ text: "/say from before" })
    const [id, account, chat] = [task.body.id, owner.account, owner.chat]
    await chats.gateway.query(`
      INSERT INTO corral_gateway.follows
        (id, platform, app, tenant, account, chat_id, direct, language, place, seq, progress, created_at)
      VALUES ('${id}', 'feishu', '${APP}', '${TENANT}', '${account}', '${chat}', true, 'en', 'Atlas', 0,
        '{"phase":"queued","tools":0,"changes":0,"waiting":0}', now())`)
    await chats.botText(owner.chat, /^from before$/, before)
    const done = await chats.card(owner.chat, "Done", before)
    assert.include(chats.fake.shown(done.id).lines, "Atlas")
  })

  it("answers in a session that was archived", async () => {
    const before = chats.fake.botMessages(owner.chat).length
    const { id } = await latestSession()
    await chats.joined.owner.ask("PATCH", `/client/sessions/${id}`, { body: { state: "archived" } })
    await chats.sendMessage(owner, "/run /say nothing")
    await chats.botText(owner.chat, /^This session is archived or closed\. Say "new"/, before)
  })

  it("keeps the first message of an account until it is linked, and delivers it once", async () => {
    const nils = chats.stranger("nils")
    const { userId } = await chats.joined.hub.signedIn("nils")
    await chats.joined.owner.ask("POST", `/client/projects/${chats.joined.projectId}/members`, {
      body: { userId, role: "member" }
    })
    await chats.sendMessage(nils, "/run /say the secret plan")
    const card = await chats.card(nils.chat, "Link this account")
    assert.match(chats.fake.shown(card.id).lines.join("\n"), /first message is kept for a day/)
    await chats.sendMessage(nils, "/run /say again")
    await chats.settled()
    const [row] = await chats.gateway.query(
      "SELECT encode(sealed, 'escape') AS text FROM corral_gateway.kept_messages"
    )
    assert.notInclude(String(row?.["text"]), "secret")
    await chats.confirm(nils, "nils")
    await chats.botText(nils.chat, /^the secret plan$/)
    await chats.sendMessage(nils, "/new /say last")
    await chats.botText(nils.chat, /^last$/)
    assert.deepStrictEqual(
      textsIn(nils.chat).filter((text) => !text.startsWith("Linked")),
      ["the secret plan", "last"]
    )
    assert.strictEqual(await chats.gateway.count("FROM corral_gateway.kept_messages"), 0)
    assert.notInclude(chats.gateway.stderr, "secret plan")
  })

  it("asks whether a message waits for an offline machine", async () => {
    const { edge, deviceId } = chats.joined
    await edge.stop()
    await chats.joined.online(deviceId, "offline")
    const before = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/new /say declined")
    const declined = await chats.card(owner.chat, "The machine is offline", before)
    await chats.click(owner, declined.id, "Don't send")
    await chats.cardWith(owner.chat, "The machine is offline", /^The message is not sent\.$/)

    const after = chats.fake.botMessages(owner.chat).length
    await chats.sendMessage(owner, "/run /say first")
    await chats.sendMessage(owner, "/run /say second")
    await chats.settled()
    const question = await chats.card(owner.chat, "The machine is offline", after)
    await chats.click(owner, question.id, "Send when it's back")
    const settled = await chats.cardWith(
      owner.chat,
      "The machine is offline",
      /^It is sent when the machine is back\.$/
    )
    assert.deepStrictEqual(chats.fake.shown(settled.id).buttons, [])
    await chats.card(owner.chat, "Waiting for the machine", after)
    await edge.start()
    await chats.botText(owner.chat, /^second$/, after)
    assert.deepStrictEqual(textsIn(owner.chat, after), ["first", "second"])
  })
})
