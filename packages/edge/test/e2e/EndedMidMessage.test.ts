/** A run that ends in the middle of a message: the message is completed, and a call that was stopped is `cancelled`. */
import { assert, describe, it } from "@effect/vitest"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

describe("A run that is cancelled", () => {
  it.each(["", "/ignore-signals\n"])("completes the message that it streamed %j", async (before) => {
    const { client } = await openEdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "200" } })
    const run = await client.create(`${before}/stream 1000000 200 64`)
    const reader = await client.follow({ runId: run.id })
    await reader.event("run.message.delta")
    await client.cancel(run.id)
    await reader.ended
    assertWhole(reader.events)
    const texts = (type: string) =>
      reader.events.filter((event) => event.type === type).map(({ payload }) => String(payload["text"]))
    assert.strictEqual(texts("run.message.completed").at(-1), texts("run.message.delta").join(""))
    assert.strictEqual(reader.events.at(-1)?.type, "run.cancelled")
  })
})
