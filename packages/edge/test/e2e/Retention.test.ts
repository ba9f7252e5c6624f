/** What clients see of a run whose events are deleted: a reported gap, and a run that still has its outcome. */
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { join } from "node:path"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { type EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assertWhole } from "../harness/LogInvariants.ts"

/** As if the run had ended long ago. The Edge is not running. */
const age = (edge: EdgeProcess, runId: string): void => {
  const db = new Database(join(edge.home, "edge.db"))
  const { changes } = db
    .prepare("UPDATE runs SET ended_at = '2001-01-01T00:00:00.000Z' WHERE id = ?")
    .run(runId)
  db.close()
  assert.strictEqual(changes, 1)
}

describe("A run whose events are no longer kept", () => {
  it("closes streams with 4410, refuses pages, and still says how it ended", async () => {
    const edge = await openEdgeProcess()
    const old = await edge.client.create("/say long ago\n/ask\n/stream 200 0 2000")
    const first = await edge.client.follow({ runId: old.id })
    const requested = await first.event("run.approval.requested")
    const approvalId = String(requested.payload["approvalId"])
    await edge.client.decide(old.id, approvalId, "allow")
    await first.ended
    const recent = await edge.client.create("/say just now")
    await edge.client.log(recent.id)
    const ended = await edge.client.run(old.id)
    assert.strictEqual(ended.state, "completed")
    await edge.stop()
    age(edge, old.id)
    await edge.start()
    const { client, token, url } = edge

    // The pass of the start is over when the log is refused.
    const events = `/v1/runs/${old.id}/events`
    const refused = await until(async () => {
      const answer = await client.ask("GET", `${events}?after=2`)
      return answer.status === 200 ? undefined : answer
    }, "the end of the old run's log")
    assert.strictEqual(refused.status, 409, refused.text)
    assert.strictEqual(codeOf(refused), "conflict")
    assert.deepInclude(refused.body, { details: { reason: "replay_gap", lastSeq: ended.lastSeq } })
    const stream = await client.ask("GET", events, { headers: { accept: "text/event-stream" } })
    assert.deepStrictEqual([stream.status, codeOf(stream)], [409, "conflict"])

    const gap = await client.follow({ runId: old.id, after: 2 })
    assert.deepStrictEqual(await gap.ended, { code: 4410, reason: "replay_gap" })
    assert.deepStrictEqual(gap.events, [])
    assert.strictEqual((await (await client.follow({ runId: old.id })).ended).code, 4410)

    // Who has the last event misses nothing.
    const whole = await client.follow({ runId: old.id, after: ended.lastSeq })
    assert.strictEqual((await whole.ended).code, 1000)
    const page = await client.ask("GET", `${events}?after=${ended.lastSeq}`)
    assert.deepInclude(page.body, { items: [], nextCursor: null })
    const sse = await fetch(`${url}${events}?after=${ended.lastSeq}`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" }
    })
    assert.deepStrictEqual([sse.status, await sse.text()], [200, ": \n\n"])
    const beyond = client.follow({ runId: old.id, after: ended.lastSeq + 1 })
    assert.match(String(await beyond.catch(String)), /422/)

    assert.deepStrictEqual(await client.run(old.id), ended)
    assert.strictEqual((await client.result(old.id)).status, 200)
    assert.strictEqual((await client.approval(approvalId)).state, "approved")
    assert.strictEqual(codeOf(await client.cancel(old.id)), "run_not_cancellable")

    assertWhole(await client.log(recent.id))
    const all = await client.follow({})
    await all.event(({ runId, type }) => runId === recent.id && type === "run.completed")
    assert.deepStrictEqual(new Set(all.events.map(({ runId }) => runId)), new Set([recent.id]))
  })
})
