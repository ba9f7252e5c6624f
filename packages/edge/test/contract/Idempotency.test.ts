/** Idempotency keys over real requests and a restart. */
import { afterAll, assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findProgram } from "../../src/process/ChildEnvironment.ts"
import { writeProgram } from "../Folder.ts"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess, openEdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { sampleRepository } from "../workspace/Repository.ts"

const create = (client: EdgeClient, key: string, text = "/say hello") =>
  client.tryCreate(text, "ask", {}, { "idempotency-key": key })

const runsOf = async (client: EdgeClient): Promise<number> => {
  const { body } = await client.ask("GET", "/v1/runs?limit=200")
  return (body as { readonly items: ReadonlyArray<unknown> }).items.length
}

describe("An idempotency key", () => {
  /** For tests that need no restart and count no runs but their own. */
  const shared = new EdgeInProcess()
  beforeAll(() => shared.start())
  afterAll(() => shared.remove())

  it("makes the same request one run, over a restart too", async () => {
    const edge = await openEdgeProcess()
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
    const { client } = await openEdgeInProcess()
    for (let round = 1; round <= 10; round++) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => create(client, `round ${round}`)))
      const created = answers.filter(({ status }) => status === 201)
      assert.isAtLeast(created.length, 1)
      assert.strictEqual(new Set(created.map(({ text }) => text)).size, 1)
      for (const answer of answers.filter(({ status }) => status !== 201)) {
        assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "idempotency_in_flight"])
        assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/)
      }
      assert.strictEqual(await runsOf(client), round)
    }
  })

  it("whose first request is in progress is refused until then, and answered afterwards", async () => {
    const signs = mkdtempSync(join(tmpdir(), "corral-signs-"))
    onTestFinished(() => rmSync(signs, { recursive: true, force: true }))
    const hang = join(signs, "hang")
    const real = findProgram("git", process.env.PATH)
    mkdirSync(join(signs, "bin"))
    // Asked before the run is created where it wants a worktree.
    const wait = `while test -e '${hang}'; do sleep 0.05; done`
    writeProgram(join(signs, "bin/git"), `case "$*" in *rev-parse*) ${wait};; esac\nexec '${real}' "$@"`)
    const edge = await openEdgeProcess({
      env: { PATH: `${join(signs, "bin")}:/usr/local/bin:/usr/bin:/bin` }
    })
    sampleRepository(edge.workspace)
    writeFileSync(hang, "")
    const key = { "idempotency-key": "slow" }
    const ask = () => edge.client.tryCreate("/say hello", "ask", { isolation: "worktree" }, key)
    // Whichever of the two came second.
    const requested = [ask(), ask()]
    const refused = await Promise.race(requested)
    assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "idempotency_in_flight"])
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/)
    rmSync(hang)
    const accepted = (await Promise.all(requested)).filter(({ status }) => status === 201)
    assert.lengthOf(accepted, 1)
    const again = await ask()
    assert.deepStrictEqual([again.status, again.text], [201, accepted[0]?.text])
    assert.strictEqual(await runsOf(edge.client), 1)
  })

  it("counts for one path alone, and for a further message as well", async () => {
    const { client } = shared
    const key = { "idempotency-key": "same" }
    const runs = await Promise.all([client.create("/wait\n/wait"), client.create("/wait\n/wait")])
    const readers = await Promise.all(runs.map(({ id }) => client.follow({ runId: id })))
    for (const reader of readers) await reader.event("run.started")
    assert.strictEqual((await create(client, "same")).status, 201)
    for (const [at, { id }] of runs.entries()) {
      const send = (text: string, headers = {}) =>
        client.ask("POST", `/v1/runs/${id}/input`, { body: { text }, headers })
      const first = await send("once", key)
      const again = await send("once", key)
      assert.deepStrictEqual([first.status, again.status, again.text], [200, 200, first.text])
      assert.isNull(first.headers.get("idempotency-replayed"))
      assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
      assert.strictEqual(codeOf(await send("other", key)), "idempotency_conflict")
      await send("twice")
      await readers[at]?.ended
      const messages = readers[at]?.events.filter(({ payload }) => payload["role"] === "user")
      assert.deepStrictEqual(
        messages?.map(({ payload }) => payload["text"]),
        ["once", "twice"]
      )
    }
  })

  it("belongs to a decision as well", async () => {
    const { client } = shared
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
    const { client } = shared
    const before = await runsOf(client)
    for (const key of ["", "x".repeat(256), "tab\there"]) {
      assert.strictEqual((await create(client, key)).status, 422, JSON.stringify(key))
    }
    assert.strictEqual(await runsOf(client), before)
  })
})
