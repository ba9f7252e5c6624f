import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { type ApprovalId, eventIds, type ProjectId, type RunId } from "@corral/domain/identity/Ids"
import type { EventDraft } from "@corral/domain/run/RunEvent"
import { Effect, Schema } from "effect"
import { RunLog } from "../../src/run/RunLog.ts"
import type { HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  runCompleted,
  createdRun,
  linesOf,
  lineOf,
  Mirror,
  newId,
  approvalResolved,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"

const small = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("RunLog", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
  })
  afterAll(() => hub.remove())

  const stored = (runId: RunId, after = 0, budget = 10_000_000) =>
    hub.people.act(
      Effect.flatMap(RunLog, (log) =>
        Effect.map(log.read(runId, after, budget), (batches) =>
          batches.flatMap(({ lines }) => lines.split("\n"))
        )
      )
    )
  const snapshot = async (runId: RunId) => {
    const { body } = await ada.ask<HubRun>("GET", `/client/runs/${runId}`)
    const { createdAt: _, id: __, updatedAt: ___, ...rest } = body
    return rest
  }

  const draftsOf = (flow: ReadonlyArray<"ask" | "say">): ReadonlyArray<EventDraft> => {
    const events: Array<EventDraft> = [createdRun, runStarted]
    for (const [i, step] of flow.entries()) {
      if (step === "say") events.push(messageDelta(`${i} \u0000 \ud800 é`))
      else {
        const id = newId<ApprovalId>("apr")
        events.push(approvalRequested(id), approvalResolved(id, "approved"))
      }
    }
    return [...events, runCompleted]
  }

  const Cuts = Schema.Array(Schema.Struct({ back: small(0, 6), length: small(1, 6) })).check(
    Schema.isMaxLength(30)
  )
  const Flow = Schema.Array(Schema.Literals(["ask", "say"])).check(Schema.isMaxLength(20))
  it.effect.prop(
    "is the same for all batches, resends and overlaps",
    [Flow, Cuts],
    ([flow, cuts]) =>
      Effect.promise(async () => {
        const drafts = draftsOf(flow)
        const runId = await mirror.open(project)
        const lines = linesOf(runId, 1, drafts)
        let durable = 0
        for (const { back, length } of [...cuts, { back: 0, length: lines.length }]) {
          const from = Math.max(0, durable - back)
          const part = lines.slice(from, from + length)
          const { seq, refusal } = await mirror.push(runId, from + 1, part)
          durable = Math.max(durable, from + part.length)
          assert.deepStrictEqual([seq, refusal], [durable, undefined])
        }
        assert.deepStrictEqual(await stored(runId), lines)
        for (const after of [1, Math.floor(lines.length / 2), lines.length])
          assert.deepStrictEqual(await stored(runId, after), lines.slice(after))
        // The row is what one push would have made of it.
        const whole = await mirror.open(project)
        await mirror.push(whole, 1, linesOf(whole, 1, drafts))
        assert.deepStrictEqual(await snapshot(runId), await snapshot(whole))
      }),
    { arbitrary: { runs: 25 } }
  )

  it("keeps the order and stores no event twice with concurrent pushes", async () => {
    const drafts = [createdRun, runStarted, ...Array.from({ length: 40 }, (_, i) => messageDelta(String(i)))]
    const runId = await mirror.open(project)
    const lines = linesOf(runId, 1, drafts)
    let seq = 0
    while (seq < lines.length) {
      const pushes = Array.from({ length: 4 }, (_, i) =>
        mirror.push(runId, seq + 1 + 2 * i, lines.slice(seq + 2 * i, seq + 2 * i + 5))
      )
      seq = Math.max(...(await Promise.all(pushes)).map((appended) => appended.seq))
    }
    assert.deepStrictEqual(await stored(runId), lines)
  })

  it("refuses events after a gap", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const late = linesOf(runId, 4, [messageDelta("a")])
    assert.deepStrictEqual(await mirror.push(runId, 4, late), { runId, seq: 2, refusal: "gap" })
    assert.strictEqual((await stored(runId)).length, 2)
    const fresh = await mirror.open(project)
    assert.deepStrictEqual(await mirror.push(fresh, 2, linesOf(fresh, 2, [runStarted])), {
      runId: fresh,
      seq: 0,
      refusal: "gap"
    })
  })

  it("accepts events of several runs in one push, and a refused run blocks no other", async () => {
    const [one, two] = [await mirror.open(project), await mirror.open(project)]
    const stranger = newId<RunId>("run")
    const appended = await hub.people.act(
      Effect.flatMap(RunLog, (log) =>
        log.append(mirror.targetId, [
          { runId: two, firstSeq: 1, events: linesOf(two, 1, [createdRun]) },
          { runId: stranger, firstSeq: 1, events: linesOf(stranger, 1, [createdRun]) },
          { runId: one, firstSeq: 3, events: linesOf(one, 3, [messageDelta("x")]) },
          { runId: two, firstSeq: 2, events: linesOf(two, 2, [runStarted]) }
        ])
      )
    )
    assert.deepStrictEqual(appended, [
      { runId: two, seq: 2 },
      { runId: stranger, seq: 0, refusal: "unknown" },
      { runId: one, seq: 0, refusal: "gap" }
    ])
  })

  it("accepts events of a run only from its target", async () => {
    const runId = await mirror.open(project)
    const other = new Mirror(hub)
    assert.deepStrictEqual(await other.push(runId, 1, linesOf(runId, 1, [createdRun])), {
      runId,
      seq: 0,
      refusal: "unknown"
    })
  })

  it("accepts a push up to its first invalid event", async () => {
    const id = eventIds(newId<RunId>("run"))
    const broken: ReadonlyArray<(good: Record<string, unknown>) => string> = [
      () => "",
      () => "null",
      () => "[]",
      () => "{",
      (good) => JSON.stringify(good, null, 1),
      (good) => `${JSON.stringify(good)}\n`,
      (good) => JSON.stringify({ ...good, id: id(3) }),
      (good) => JSON.stringify({ ...good, seq: 4 }),
      (good) => JSON.stringify({ ...good, runId: newId("run") }),
      (good) => JSON.stringify({ ...good, type: 7 }),
      (good) => JSON.stringify({ ...good, createdAt: "yesterday" }),
      (good) => JSON.stringify({ ...good, payload: [] }),
      (good) => JSON.stringify({ ...good, more: true }),
      (good) => JSON.stringify({ ...good, payload: { v: 1, text: "x".repeat(300_000) } }),
      (good) => JSON.stringify({ ...good, type: "run.created", payload: { v: 1, ...createdRun.payload } }),
      (good) =>
        JSON.stringify({
          ...good,
          type: "run.approval.resolved",
          payload: { v: 1, approvalId: newId("apr"), state: "denied" }
        })
    ]
    for (const breaking of broken) {
      const runId = await mirror.open(project)
      const good = JSON.parse(lineOf(runId, 3, messageDelta("x"))) as Record<string, unknown>
      const events = [
        ...linesOf(runId, 1, [createdRun, runStarted]),
        breaking(good),
        lineOf(runId, 4, runCompleted)
      ]
      assert.deepStrictEqual(await mirror.push(runId, 1, events), { runId, seq: 2, refusal: "broken" })
      assert.strictEqual((await stored(runId)).length, 2)
    }
  })

  it("refuses events after the end and before the start of a run", async () => {
    const runId = await mirror.run(project, createdRun, runStarted, runCompleted)
    assert.strictEqual(
      (await mirror.push(runId, 4, linesOf(runId, 4, [messageDelta("more")]))).refusal,
      "broken"
    )
    const fresh = await mirror.open(project)
    assert.strictEqual(
      (await mirror.push(fresh, 1, linesOf(fresh, 1, [messageDelta("early")]))).refusal,
      "broken"
    )
  })

  it("stores events and payloads of unknown types", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const unknown = [
      JSON.stringify({
        ...(JSON.parse(lineOf(runId, 3, messageDelta("x"))) as object),
        type: "run.dreamt",
        payload: { v: 9 }
      }),
      JSON.stringify({
        ...(JSON.parse(lineOf(runId, 4, runCompleted)) as object),
        payload: { v: 2, verse: "x" }
      })
    ]
    assert.deepStrictEqual(await mirror.push(runId, 3, unknown), { runId, seq: 4 })
    assert.deepStrictEqual((await stored(runId)).slice(2), unknown)
    assert.strictEqual((await snapshot(runId)).state, "completed")
  })

  it("reads about the requested number of characters, and at least one batch", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    for (let seq = 3; seq <= 12; seq++) await mirror.append(runId, seq, messageDelta("x".repeat(1_000)))
    assert.strictEqual((await stored(runId, 2, 1)).length, 1)
    assert.strictEqual((await stored(runId, 2, 3_000)).length, 3)
    assert.strictEqual((await stored(runId, 12, 3_000)).length, 0)
  })
})
