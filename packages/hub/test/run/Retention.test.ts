import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ProjectId, RunId } from "@corral/domain/identity/Ids"
import type { EventPage } from "@corral/domain/edge-api/Runs"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { tries } from "@corral/testing/time/Effort"
import { within } from "@corral/testing/time/Until"
import { dropLogsEndedBefore } from "../../src/run/Retention.ts"
import { type Answer, codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  type Mirror,
  runCompleted,
  createdRun,
  createRun,
  linesOf,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"
import { StreamReader } from "@corral/testing/hub/StreamReader"

const DAY_MS = 86_400_000

describe("Retention", () => {
  // Until its last test, nothing is dropped but by the tests: the first pass of a Hub is beside its start.
  const env = { CORRAL_HUB_RETENTION_DAYS: "0" }
  const hub = new HubInProcess({ env })
  let ada: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
  })
  afterAll(() => hub.remove())

  const events = [
    createdRun,
    runStarted,
    messageDelta("a"),
    messageDelta("b"),
    messageDelta("c"),
    runCompleted
  ]
  const dayAgo = (days: number) => new Date(Date.now() - days * DAY_MS)

  /** A run that ended `days` days ago and whose last push has events before its last. */
  const ended = async (days: number, of = project): Promise<RunId> => {
    const id = await mirror.open(of)
    for (const seq of [1, 2, 3, 4]) await mirror.push(id, seq, linesOf(id, seq, events.slice(seq - 1, seq)))
    await mirror.push(id, 5, linesOf(id, 5, events.slice(4)))
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE runs SET ended_at = ${dayAgo(days)} WHERE id = ${id}`
      )
    )
    return id
  }
  const drop = (days: number, rows?: number) => hub.people.act(dropLogsEndedBefore(dayAgo(days), rows))
  const page = (id: RunId, after = 0): Promise<Answer<EventPage>> =>
    ada.ask<EventPage>("GET", `/client/runs/${id}/events?after=${after}`)
  const assertGap = (answer: Answer) => {
    assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
    assert.deepInclude(answer.body, { details: { reason: "replay_gap", lastSeq: 6 } })
  }

  it("drops every log that can be dropped, wherever in a batch those are that cannot", async () => {
    const stuckOf = fc.array(fc.boolean(), { minLength: 3, maxLength: 6 })
    const execute = (text: string) =>
      hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text)))
    await execute(`CREATE TABLE stuck_runs (id text)`)
    await execute(`CREATE FUNCTION refuse_stuck() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT 1 FROM stuck_runs WHERE id = NEW.id) THEN RAISE 'stuck'; END IF;
        RETURN NEW;
      END $$`)
    await execute(
      `CREATE TRIGGER stuck BEFORE UPDATE OF kept ON runs FOR EACH ROW EXECUTE FUNCTION refuse_stuck()`
    )
    await fc.assert(
      fc.asyncProperty(stuckOf, async (stuck) => {
        const ids: Array<RunId> = []
        for (const [index, isStuck] of stuck.entries()) {
          const id = await ended(400 - index)
          ids.push(id)
          if (isStuck) await execute(`INSERT INTO stuck_runs VALUES ('${id}')`)
        }
        const dropped = await hub.people.act(dropLogsEndedBefore(dayAgo(300), 500, 2))
        assert.strictEqual(dropped, stuck.filter((isStuck) => !isStuck).length)
        const remaining = await hub.people.act(
          Effect.flatMap(
            SqlClient.SqlClient,
            (sql) =>
              sql<{
                readonly id: RunId
              }>`SELECT id FROM runs WHERE kept AND id = ANY(${ids}::text[]) ORDER BY ended_at`
          )
        )
        assert.deepStrictEqual(
          remaining.map(({ id }) => id),
          ids.filter((_, index) => stuck[index])
        )
        await execute("TRUNCATE stuck_runs")
        assert.strictEqual(await hub.people.act(dropLogsEndedBefore(dayAgo(300))), remaining.length)
      }),
      { numRuns: tries(4).arbitrary.runs }
    )
  })

  it("keeps the last event of a dropped log, its run, and the logs of other runs", async () => {
    const [old, young, running] = [
      await ended(10),
      await ended(8),
      await mirror.run(project, createdRun, runStarted)
    ]
    const before = await ada.ask<HubRun>("GET", `/client/runs/${old}`)
    assert.strictEqual(await drop(9, 2), 1)
    assert.strictEqual(await drop(9, 2), 0)
    const after = await ada.ask<HubRun>("GET", `/client/runs/${old}`)
    const { requestId: _, ...rest } = before.body as HubRun & { readonly requestId?: string }
    assert.deepInclude(after.body, rest)
    assert.strictEqual(after.body.resultText, "Done")
    const last = await page(old, 5)
    assert.deepEqual<unknown>(
      last.body.items,
      linesOf(old, 6, [runCompleted]).map((line): unknown => JSON.parse(line))
    )
    assert.strictEqual((await page(young)).body.items.length, 6)
    assert.strictEqual((await page(running)).body.items.length, 2)
  })

  it("reports a gap in pages and streams to readers of dropped events only", async () => {
    const id = await ended(20)
    assert.strictEqual(await drop(19), 1)
    for (const after of [0, 3, 4]) assertGap(await page(id, after))
    assertGap(await ada.ask("GET", `/client/runs/${id}/events`, { headers: { accept: "text/event-stream" } }))
    const late = await StreamReader.open(ada, `runId=${id}&after=2`)
    assert.strictEqual((await late.closed()).code, 4410)
    assert.deepStrictEqual(late.frames, [])
    for (const [after, count] of [
      [5, 1],
      [6, 0]
    ] as const) {
      const reader = await StreamReader.open(ada, `runId=${id}&after=${after}`)
      assert.deepStrictEqual([(await reader.closed()).code, reader.frames.length], [1000, count])
    }
    assert.deepStrictEqual((await page(id, 6)).body.items, [])
  })

  it("is skipped by the stream of a session", async () => {
    const sessionId = await mirror.session(project)
    const of = async () => {
      const id = await mirror.open(project, { ...createRun, sessionId })
      await mirror.append(id, 1, createdRun, runStarted, runCompleted)
      return id
    }
    const [old, young] = [await of(), await of()]
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE runs SET ended_at = ${dayAgo(22)} WHERE id = ${old}`
      )
    )
    assert.strictEqual(await drop(21), 1)
    const reader = await StreamReader.open(ada, `sessionId=${sessionId}`)
    await reader.count(3)
    assert.deepStrictEqual([...new Set(reader.events.map(({ runId }) => runId))], [young])
    reader.drop()
  })

  it("runs by itself, at the latest eight days after the configured days", async () => {
    const [old, young] = [await ended(39), await ended(29)]
    await hub.end()
    env.CORRAL_HUB_RETENTION_DAYS = "30"
    await hub.start()
    const again = await hub.signedIn("ada")
    const removed = async (): Promise<Answer> => {
      const answer = await again.ask("GET", `/client/runs/${old}/events`)
      return answer.status === 200 ? removed() : answer
    }
    assertGap(await within(removed(), 10_000, "the end of the log"))
    const stored = await again.ask<EventPage>("GET", `/client/runs/${young}/events`)
    assert.strictEqual(stored.body.items.length, 6)
  })
})
