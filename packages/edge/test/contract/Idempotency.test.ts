/** Idempotency keys over real requests and a restart. */
import { assert, describe, it } from "@effect/vitest"
import { codeOf, type EdgeClient } from "../harness/EdgeClient.ts"
import { openEdge } from "../harness/EdgeProcess.ts"

const create = (client: EdgeClient, key: string, text = "/say hello") =>
  client.tryCreate(text, "ask", {}, { "idempotency-key": key })

const runsOf = async (client: EdgeClient): Promise<number> => {
  const { body } = await client.ask("GET", "/v1/runs?limit=200")
  return (body as { readonly items: ReadonlyArray<unknown> }).items.length
}

describe("An idempotency key", () => {
  it("makes the same request one run, over a restart too", async () => {
    const edge = await openEdge()
    const first = await create(edge.client, "one")
    assert.strictEqual(first.status, 201)
    assert.isNull(first.headers.get("idempotency-replayed"))

    const again = await create(edge.client, "one")
    assert.deepStrictEqual([again.status, again.text], [201, first.text])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(again.headers.get("location"), first.headers.get("location"))

    await edge.kill()
    await edge.start()
    const afterRestart = await create(edge.client, "one")
    assert.deepStrictEqual([afterRestart.status, afterRestart.text], [201, first.text])
    assert.strictEqual(afterRestart.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(await runsOf(edge.client), 1)

    const other = await create(edge.client, "one", "/say something else")
    assert.deepStrictEqual([other.status, codeOf(other)], [409, "idempotency_conflict"])
    const otherKey = await create(edge.client, "two")
    assert.notStrictEqual(otherKey.text, first.text)
    assert.strictEqual(await runsOf(edge.client), 2)
  })

  it("makes requests at once one run", async () => {
    const { client } = await openEdge()
    for (let round = 1; round <= 10; round++) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => create(client, `round ${round}`)))
      const made = answers.filter(({ status }) => status === 201)
      assert.isAtLeast(made.length, 1)
      assert.strictEqual(new Set(made.map(({ text }) => text)).size, 1)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "idempotency_in_flight"])
        assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/)
      }
      assert.strictEqual(await runsOf(client), round)
    }
  })

  it("belongs to a decision as well", async () => {
    const { client } = await openEdge()
    const run = await client.create("/ask")
    const reader = await client.follow({ runId: run.id })
    const approvalId = String((await reader.event("run.approval.requested")).payload["approvalId"])
    const decide = (decision: string) =>
      client.ask("POST", "/v1/permissions/decide", {
        body: { runId: run.id, approvalId, decision },
        headers: { "idempotency-key": "decided" }
      })
    const first = await decide("allow")
    const again = await decide("allow")
    assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.strictEqual(codeOf(await decide("deny")), "idempotency_conflict")
  })

  it("of the wrong shape is refused", async () => {
    const { client } = await openEdge()
    for (const key of ["", "x".repeat(256), "tab\there"]) {
      assert.strictEqual((await create(client, key)).status, 422, JSON.stringify(key))
    }
    assert.strictEqual(await runsOf(client), 0)
  })
})
