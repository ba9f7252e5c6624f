/** Messages of an editor that wait for a run when their Edge is killed: each is sent once, in order. */
import { AgentHostClient } from "@corral/testing/editor/AgentHostClient"
import { AgentHostSession } from "@corral/testing/editor/AgentHostSession"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const open = async (): Promise<EdgeProcess> => {
  const edge = new EdgeProcess({ env: { CORRAL_EDGE_ORPHAN_MS: "60000" } })
  onTestFinished(() => edge.remove())
  await edge.start()
  return edge
}

const connect = ({ token, url }: EdgeProcess) => AgentHostClient.open(`${url}/ahp/ws?tkn=${token}`)

interface ListedRun {
  readonly id: string
  readonly input: { readonly text: string }
}

/** Runs, the first one first. */
const runsOf = async ({ client, runIds }: EdgeProcess): Promise<ReadonlyArray<ListedRun>> => {
  const { body } = await client.ask("GET", "/v1/runs?limit=200")
  const runs = (Object(body).items as ReadonlyArray<ListedRun>).toReversed()
  for (const { id } of runs) runIds.add(id)
  return runs
}

describe("messages that wait for a run", () => {
  it("are sent once and in order, although the Edge is killed before and between them", async () => {
    const edge = await open()
    const client = await connect(edge)
    const session = await AgentHostSession.create(client, "scripted", edge.workspace)
    const texts = ["zero", "one", "two", "three"].map((name) => `/say ${name}\n/wait`)
    const [first = "", ...others] = texts
    const turn = await session.prompt(first)
    await session.hasText(turn, "zero")
    for (const [at, text] of others.entries()) await session.queue(`message-${at}`, text)
    for (const at of texts.keys()) {
      const run = await until(async () => (await runsOf(edge))[at], `run ${at}`)
      const reader = await edge.client.follow({ runId: run.id })
      await reader.event("run.message.completed")
      await edge.kill()
      await edge.start()
      assert.lengthOf(await runsOf(edge), at + 1)
      const input = await edge.client.ask("POST", `/v1/runs/${run.id}/input`, { body: { text: "go on" } })
      assert.strictEqual(input.status, 200, input.text)
      assert.strictEqual((await edge.client.log(run.id)).at(-1)?.type, "run.completed")
    }
    assert.deepStrictEqual(
      (await runsOf(edge)).map(({ input }) => input.text),
      texts
    )
    const shown = await AgentHostSession.open(await connect(edge), session.resource)
    assert.isUndefined(shown.chatState["queuedMessages"])
    assert.lengthOf(shown.chatState["turns"] as ReadonlyArray<unknown>, texts.length)
    shown.client.drop()
  })
})
