/** A real Edge whose store was damaged while it was down: what HTTP, WebSocket and event streams answer. */
import type { EdgeReadiness } from "@corral/domain/http/Health"
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { codeOf, EventReader } from "@corral/testing/edge/EdgeClient"
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

describe("An Edge with a damaged store", () => {
  it("refuses the damaged run and new runs, serves the others, and says what to do", async () => {
    const edge = await openEdgeProcess()
    const runs = []
    for (const text of ["first", "second", "third"]) {
      const run = await edge.client.create(`/say ${text}-word`)
      await edge.client.result(run.id, 60_000)
      runs.push(run.id)
    }
    const [first = "", second = "", third = ""] = runs
    const whole = await edge.client.log(third)
    const before = await edge.client.log(second)
    const untouched = before.findIndex((event) => JSON.stringify(event).includes("second-word"))
    await edge.stop()
    const file = join(edge.home, "edge.db")
    const db = new Database(file)
    db.pragma("wal_checkpoint(TRUNCATE)")
    // Of the events alone: the rows of runs are other tables.
    const { lines } = db
      .prepare("SELECT lines FROM events WHERE run_id = ? ORDER BY batch LIMIT 1")
      .get(second) as {
      readonly lines: string
    }
    db.close()
    const bytes = readFileSync(file)
    for (let i = bytes.indexOf(lines); i > 0; i = bytes.indexOf(lines))
      bytes.write("X", bytes.indexOf("second-word", i))
    writeFileSync(file, bytes)
    await edge.start()

    const { client } = edge
    const response = await client.ask("GET", "/v1/health")
    const { problems = [], status, store } = response.body as EdgeReadiness
    assert.deepStrictEqual(
      [response.status, status, store?.status],
      [503, "degraded", "degraded"],
      response.text
    )
    assert.deepStrictEqual(
      problems.map(({ part }) => part),
      ["store"]
    )
    assert.match(problems[0]?.hint ?? "", /restore edge\.db from a backup/)
    assert.deepStrictEqual(
      Object.keys((await client.ask("GET", "/health", { token: null })).body as object).sort(),
      ["instanceId", "status"]
    )
    assert.strictEqual((await client.ask("GET", "/health/live", { token: null })).status, 200)

    const refused = await client.tryCreate("/say fourth")
    assert.deepStrictEqual([refused.status, codeOf(refused)], [503, "overloaded"], refused.text)
    assert.include(refused.text, "store_damaged")

    assertWhole(await client.log(first))
    assert.deepStrictEqual(await client.log(third), whole)
    for (const accept of ["application/json", "text/event-stream"]) {
      const answer = await client.ask("GET", `/v1/runs/${second}/events`, { headers: { accept } })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "overloaded"], answer.text)
      assert.include(answer.text, second)
      assert.notInclude(answer.text, "second-word")
    }
    assert.isAtLeast(untouched, 0)
    const reader = await EventReader.open(edge.url, edge.token, { runId: second })
    const closed = await reader.ended
    assert.deepStrictEqual([closed.code, closed.reason], [1011, "the stored events are damaged"])
    assert.isEmpty(reader.frames)
    // All runs: the damaged batch is left out, and the sequence shows that something is missing.
    const everything = await client.follow({})
    await everything.event(({ runId, seq }) => runId === third && seq === whole.length)
    assert.isEmpty(everything.frames.filter((frame) => frame.includes("Xecond-word")))
  })

  it("does not start an emptied home as a new one", async () => {
    const edge = await openEdgeProcess()
    await edge.stop()
    for (const name of ["edge.db", "edge.db-wal", "edge.db-shm"])
      rmSync(join(edge.home, name), { force: true })
    const { code, stderr } = await edge.startSecond()
    assert.strictEqual(code, 1)
    assert.match(
      stderr,
      /^\S+edge\.db is missing, but \S+edge\.token shows that this home was in use\. Restore .*\n$/
    )
    rmSync(join(edge.home, "edge.token"))
    await edge.start()
  })
})
