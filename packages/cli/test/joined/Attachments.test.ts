/** Files of messages over the whole chain: a Hub, an Edge and the scripted agent, as processes. */
import { assert, describe, it } from "@effect/vitest"
import { hubClient } from "@corral/client/Hub"
import type { Message } from "@corral/domain/session/Message"
import { PIXEL } from "@corral/testing/hub/HubClient"
import { makeSession } from "@corral/testing/hub/People"
import { openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"

describe("files of messages", () => {
  it("reach the agent once, also if the Hub is killed meanwhile, and later turns can read them", async () => {
    const joined = await openJoined()
    const { id } = await makeSession(joined.owner, { id: joined.projectId })
    const added = await joined.owner.ask("POST", `/client/sessions/${id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws", mode: "ask" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const hub = () => hubClient({ url: joined.hub.url, token: joined.owner.token ?? "" })
    const upload = (name: string, content: string | Uint8Array<ArrayBuffer>, type: string) =>
      hub().uploads.create({ query: { name }, payload: new Blob([content], { type }) })
    const send = (text: string, attachments: ReadonlyArray<{ readonly id: string }> = []) =>
      hub().sessions.addMessage({
        params: { id },
        payload: { text, onOffline: "queue", attachments: attachments.map((each) => each.id) }
      })
    const answer = (count: number) =>
      until(
        async () => {
          const { items } = await hub().sessions.messages({ params: { id } })
          return items.filter(({ author }) => author.kind === "agent").toReversed()[count - 1]
        },
        `the answer ${count}`,
        60_000
      )
    const messageOf = async ({ id: messageId }: Pick<Message, "id">) =>
      (await hub().sessions.messages({ params: { id } })).items.find((message) => message.id === messageId)

    const [image, notes] = [
      await upload("dot.png", PIXEL, "image/png"),
      await upload("notes.txt", "remember the milk\n", "text/plain")
    ]
    await send("/say one", [image, notes])
    const first = await answer(1)
    const answerLines = (await joined.edge.client.log(String(first.runId))).flatMap(({ payload, type }) =>
      type === "run.message.completed" ? String(payload["text"]).split("\n") : []
    )
    const paths = answerLines.flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []))
    assert.lengthOf(paths, 2)
    const [dot = "", text = ""] = paths
    assert.isTrue(dot.startsWith(`${joined.edge.home}/attachments/`), dot)
    assert.deepStrictEqual(readFileSync(dot), PIXEL)

    await send(`/shell cat ${text}\n/say two`)
    const second = await answer(2)
    assert.strictEqual(second.outcome, "completed", second.text)
    const log = await joined.edge.client.log(String(second.runId))
    assert.include(JSON.stringify(log), "remember the milk")

    const large = await upload("large.txt", Buffer.alloc(20 * 1_048_576, "large\n"), "text/plain")
    const sent = await send("/say three", [large])
    const folder = dirname(dot)
    const filesOf = () => readdirSync(folder).filter((name) => name.startsWith(large.id))
    await until(async () => (filesOf().length > 0 ? true : undefined), "the first bytes")
    await joined.hub.end("SIGKILL")
    await joined.hub.start()
    joined.found()
    const third = await answer(3)
    assert.strictEqual(third.outcome, "completed", third.text)
    assert.deepStrictEqual(filesOf(), [`${large.id}-large.txt`])
    assert.strictEqual(statSync(join(folder, `${large.id}-large.txt`)).size, large.bytes)
    assert.deepInclude((await messageOf(sent))?.delivery, { state: "delivered" })
    const { items } = await hub().sessions.messages({ params: { id } })
    assert.lengthOf(items, 6, "each message and each answer once")
    assert.deepStrictEqual(
      items.toReversed().map(({ attachments = [] }) => attachments.map(({ name }) => name)),
      [["dot.png", "notes.txt"], [], [], [], ["large.txt"], []]
    )
  })
})
