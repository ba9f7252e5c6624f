/**
 * Five turns with one agent, from two browsers: the Hub is killed in the second turn, the Edge restarts before the fourth, whose target is offline
 * when it is sent, and the fifth has an image.
 */
import { assert } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import { HubClient, PIXEL, upload } from "../hub/HubClient.ts"
import { makeSession } from "../hub/People.ts"
import { until } from "../time/Until.ts"
import type { Joined } from "./Joined.ts"

export interface FiveTurnsOptions {
  readonly agentId: string
  /** The prompt that makes the agent answer with the word. */
  readonly promptOf: (word: string) => string
  /** The same, and the turn takes a moment. */
  readonly slowPromptOf?: (word: string) => string
  readonly mode?: "ask" | "full_access"
}

export const WORDS = ["one", "two", "three", "four", "five"] as const

/** Milliseconds for a turn of a real program on a busy machine. */
const PATIENCE_MS = 120_000

/** The messages of the session, oldest first, once the five turns are answered. */
export const takeFiveTurns = async (
  joined: Joined,
  { agentId, mode = "ask", promptOf, slowPromptOf = promptOf }: FiveTurnsOptions
): Promise<ReadonlyArray<Message>> => {
  const { token, userId } = await joined.hub.signedIn("colleague")
  const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
    body: { userId, role: "member" }
  })
  assert.strictEqual(added.status, 201, added.text)
  const colleague = () => new HubClient(joined.hub.url, token, userId)
  const { id } = await makeSession(joined.owner, { id: joined.projectId })
  const path = `/client/sessions/${id}`
  const agent = await joined.owner.ask("POST", `${path}/agents`, {
    body: { agentId, targetId: joined.deviceId, workspace: "ws", mode }
  })
  assert.strictEqual(agent.status, 201, agent.text)

  const send = async (text: string, client = joined.owner, more: object = {}): Promise<Message> => {
    const sent = await client.ask<Message>("POST", `${path}/messages`, {
      body: { text, onOffline: "queue", ...more },
      headers: { "idempotency-key": text.replaceAll("\n", " ") }
    })
    assert.strictEqual(sent.status, 201, sent.text)
    return sent.body
  }
  const messages = async (client = colleague()): Promise<ReadonlyArray<Message>> =>
    (
      await client.ask<{ readonly items: ReadonlyArray<Message> }>("GET", `${path}/messages?limit=200`)
    ).body.items.toReversed()
  const answers = (count: number) =>
    until(
      async () =>
        (await messages()).filter(({ author }) => author.kind === "agent").length >= count || undefined,
      `${count} answers`,
      PATIENCE_MS
    )

  await send(promptOf(WORDS[0]))
  await answers(1)

  await send(slowPromptOf(WORDS[1]), colleague())
  await joined.hub.end("SIGKILL")
  await joined.hub.start()
  joined.found()
  await answers(2)

  await send(promptOf(WORDS[2]))
  await answers(3)
  await joined.edge.stop()
  await joined.online(joined.deviceId, "offline")

  const waiting = await send(promptOf(WORDS[3]), colleague())
  assert.strictEqual(waiting.delivery?.state, "pending")
  await joined.edge.start()
  await answers(4)

  const image = await upload(joined.owner, "dot.png", "image/png", PIXEL)
  assert.strictEqual(image.status, 201, image.text)
  await send(promptOf(WORDS[4]), joined.owner, { attachments: [image.body.id] })
  await answers(5)
  return messages(joined.owner)
}

/** Each message was delivered once and in order, with that context, and its answer contains its text. */
export const assertFiveTurns = (
  messages: ReadonlyArray<Message>,
  {
    context = "resumed",
    texts = WORDS
  }: { readonly context?: "resumed" | "transcript"; readonly texts?: ReadonlyArray<string> } = {}
): void => {
  const answers = messages.filter(({ author }) => author.kind === "agent")
  const saidWords = answers.map(
    ({ outcome, text }, turn) => `${outcome} ${text.includes(texts[turn] ?? "?")}`
  )
  assert.deepStrictEqual(
    saidWords,
    Array.from(WORDS, () => "completed true"),
    JSON.stringify(answers)
  )
  const sent = messages.filter(({ author }) => author.kind === "user")
  assert.deepStrictEqual(
    sent.map(({ delivery }) => `${delivery?.state} ${delivery?.context}`),
    ["delivered new", ...Array.from({ length: 4 }, () => `delivered ${context}`)]
  )
  assert.strictEqual(new Set(sent.map(({ delivery }) => delivery?.runId)).size, WORDS.length)
}
