/** A conversation over the whole chain: a Hub, an Edge and the scripted agent, as processes, with restarts between the turns. */
import { assert, describe, it } from "@effect/vitest"
import type { Message } from "@corral/domain/session/Message"
import { makeSession } from "@corral/testing/hub/Teams"
import { openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"

describe("a conversation with an agent", { timeout: 240_000 }, () => {
  it("delivers five turns once and in order, across restarts of Hub and Edge and an offline target", async () => {
    const joined = await openJoined()
    const { id } = await makeSession(joined.owner, { id: joined.projectId })
    const added = await joined.owner.ask("POST", `/client/sessions/${id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode: "ask" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const send = async (text: string) => {
      const sent = await joined.owner.ask<Message>("POST", `/client/sessions/${id}/messages`, {
        body: { text, onOffline: "queue" },
        headers: { "idempotency-key": text.replaceAll("\n", " ") }
      })
      assert.strictEqual(sent.status, 201, sent.text)
      return sent.body
    }
    const messages = async () =>
      (
        await joined.owner.ask<{ readonly items: ReadonlyArray<Message> }>(
          "GET",
          `/client/sessions/${id}/messages?limit=200`
        )
      ).body.items.toReversed()
    const answers = (count: number) =>
      until(
        async () => {
          const found = (await messages()).filter(({ author }) => author.kind === "agent")
          return found.length >= count ? found : undefined
        },
        `${count} answers`,
        60_000
      )

    await send("/say one")
    await answers(1)

    await send("/sleep 1500\n/say two")
    await joined.hub.end("SIGKILL")
    await joined.hub.start()
    joined.found()
    await answers(2)

    await send("/say three")
    await answers(3)
    await joined.edge.stop()
    await joined.online(joined.deviceId, "offline")

    const waiting = await send("/say four")
    assert.strictEqual(waiting.delivery?.state, "pending")
    await joined.edge.start()
    await answers(4)

    await send("/say five")
    const found = await answers(5)
    assert.deepStrictEqual(
      found.map(({ outcome, text }) => [outcome, text.trim()]),
      ["one", "two", "three", "four", "five"].map((text) => ["completed", text])
    )
    const sent = (await messages()).filter(({ author }) => author.kind === "user")
    assert.deepStrictEqual(
      sent.map(({ delivery }) => [delivery?.state, delivery?.context]),
      [
        ["delivered", "new"],
        ["delivered", "resumed"],
        ["delivered", "resumed"],
        ["delivered", "resumed"],
        ["delivered", "resumed"]
      ]
    )
    assert.strictEqual(new Set(sent.map(({ delivery }) => delivery?.runId)).size, 5)
  })
})
