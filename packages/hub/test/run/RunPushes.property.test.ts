import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ApprovalId, InputRequestId, ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { draft, type EventDraft } from "@corral/domain/run/RunEvent"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  approvalRequested,
  approvalResolved,
  createdRun,
  inputRequested,
  inputResolved,
  linesOf,
  messageDelta,
  Mirror,
  newId,
  runCompleted,
  runStarted
} from "@corral/testing/hub/Mirror"
import { Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { LinkPush } from "../../src/run/RunPushes.ts"
import { RunLog } from "../../src/run/RunLog.ts"

const TARGETS = 4

/** The next events of a target, with some that it has pushed before; `ends`: the transaction ends with this push. */
const Step = Schema.Struct({
  target: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: TARGETS - 1 })),
  back: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
  isBroken: Schema.Boolean,
  ends: Schema.Boolean
})
const Steps = Schema.Array(Step).check(Schema.isMaxLength(60))

describe("pushes of several targets", () => {
  const hub = new HubInProcess()
  let project: ProjectId
  let owner: UserId | undefined
  beforeAll(async () => {
    await hub.start()
    owner = (await hub.signedIn("ada")).userId
    project = await new Mirror(hub).project(owner)
  })
  afterAll(() => hub.remove())

  const draftsOf = (): ReadonlyArray<EventDraft> => {
    const [first, second] = [newId<ApprovalId>("apr"), newId<ApprovalId>("apr")]
    const [one, two] = [newId<InputRequestId>("inq"), newId<InputRequestId>("inq")]
    return [
      createdRun,
      runStarted,
      messageDelta("a"),
      approvalRequested(first),
      approvalResolved(first, "approved"),
      approvalRequested(second),
      messageDelta("b"),
      approvalResolved(second, "denied"),
      messageDelta("c"),
      inputRequested(one),
      draft("run.work.started", { workId: "w", kind: "agent", title: "A work" }),
      draft("run.turn.ended", { turn: 1, outstanding: 1 }),
      inputResolved(one, "answered", { by: "someone", answers: { name: "Ada" } }),
      draft("run.turn.started", { turn: 2, by: "program" }),
      inputRequested(two),
      draft("run.work.ended", { workId: "w", state: "completed" }),
      inputResolved(two, "cancelled"),
      runCompleted
    ]
  }

  const openRuns = () =>
    Promise.all(
      Array.from({ length: TARGETS }, async () => {
        const mirror = new Mirror(hub)
        const runId = await mirror.open(project)
        const deviceId = await mirror.device(owner)
        return {
          targetId: deviceId,
          link: { deviceId, generation: 0 },
          runId,
          lines: linesOf(runId, 1, draftsOf())
        }
      })
    )

  /** The pushes of the steps in transactions, for runs of which nothing is stored. */
  const transactionsOf = (
    steps: ReadonlyArray<typeof Step.Type>,
    runs: Awaited<ReturnType<typeof openRuns>>
  ): ReadonlyArray<ReadonlyArray<LinkPush>> => {
    const sent = runs.map(() => 0)
    const transactions: Array<Array<LinkPush>> = [[]]
    for (const { back, ends, isBroken, length, target } of steps) {
      const run = runs[target]
      assert.isDefined(run)
      const from = Math.max(0, (sent[target] ?? 0) - back)
      const events = isBroken ? ["{}"] : run.lines.slice(from, from + length)
      const firstSeq = isBroken ? (sent[target] ?? 0) + 1 : from + 1
      if (!isBroken) sent[target] = Math.max(sent[target] ?? 0, from + events.length)
      transactions
        .at(-1)
        ?.push({ targetId: run.targetId, link: run.link, batches: [{ runId: run.runId, firstSeq, events }] })
      if (ends) transactions.push([])
    }
    return transactions
  }

  /** In a transaction that reads the rows of the runs. */
  const append = ({ batches, targetId }: LinkPush) =>
    hub.people.act(Effect.flatMap(RunLog, (log) => log.append(targetId, batches)))

  const appendAll = (
    pushes: ReadonlyArray<LinkPush>,
    refused: ReadonlyMap<LinkPush, "refused"> = new Map()
  ) => hub.people.act(Effect.flatMap(RunLog, (log) => log.appendAll(pushes, () => Effect.succeed(refused))))

  /** Rows of the runs without ids and times. */
  const rowsOf = (runIds: ReadonlyArray<RunId>) =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        Effect.forEach(
          runIds,
          (id) => sql`
            SELECT state, started, cardinality(pending) AS pending, told::jsonb - 'endedAt' AS told, last_seq, ended_at IS NOT NULL AS ended,
              cardinality(pending_inputs) AS pending_inputs, turn, idle, work,
              (SELECT string_agg((line::jsonb ->> 'seq') || ' ' || (line::jsonb ->> 'type'), ',' ORDER BY e.last_seq, n)
                FROM run_events e CROSS JOIN unnest(string_to_array(e.lines, E'\n')) WITH ORDINALITY AS l (line, n)
                WHERE e.run_id = runs.id) AS log,
              (SELECT string_agg(state, ',' ORDER BY id) FROM approvals a WHERE a.run_id = runs.id) AS approvals,
              (SELECT string_agg(state, ',' ORDER BY id) FROM inputs i WHERE i.run_id = runs.id) AS inputs
            FROM runs WHERE id = ${id}`
        )
      )
    )

  it.effect.prop(
    "are stored together as they are one by one",
    [Steps],
    ([steps]) =>
      Effect.promise(async () => {
        const [shared, alone] = [await openRuns(), await openRuns()]
        // A broken push ends what its run accepts in that transaction, so the same push is last in its transaction in both.
        const cut = steps.map((step) => ({ ...step, ends: step.ends || step.isBroken }))
        for (const pushes of transactionsOf(cut, shared)) await appendAll(pushes)
        for (const push of transactionsOf(cut, alone).flat()) await append(push)
        assert.deepStrictEqual(
          await rowsOf(shared.map(({ runId }) => runId)),
          await rowsOf(alone.map(({ runId }) => runId))
        )
      }),
    { arbitrary: { runs: 30 } }
  )

  it("after a gap do not refuse the pushes that come after them", async () => {
    const [noted, other] = await openRuns()
    for (const run of [noted, other]) {
      assert.isDefined(run)
      const { lines, link, runId, targetId } = run
      const push = (from: number, to: number) => ({
        targetId,
        link,
        batches: [{ runId, firstSeq: from, events: lines.slice(from - 1, to) }]
      })
      if (run === noted) await appendAll([push(1, 2)])
      const results = await appendAll([push(1, 3), push(6, 7), push(4, 6), push(9, 9)])
      assert.deepStrictEqual(
        results.map((result) => Result.isSuccess(result) && result.success[0]?.seq),
        [6, 6, 6, 6]
      )
      const lastSeq = async () => (await rowsOf([runId]))[0]?.[0]?.["last_seq"]
      assert.strictEqual(await lastSeq(), 6)
      await appendAll([push(7, 10)])
      assert.strictEqual(await lastSeq(), 10)
    }
  })

  it("are refused one by one", async () => {
    const runs = await openRuns()
    const pushes = runs.map(({ lines, link, runId, targetId }) => ({
      targetId,
      link,
      batches: [{ runId, firstSeq: 1, events: lines.slice(0, 2) }]
    }))
    const [one, two, three] = runs
    assert.isDefined(one)
    assert.isDefined(two)
    assert.isDefined(three)
    const [first, second, third, fourth] = pushes
    assert.isDefined(first)
    assert.isDefined(second)
    assert.isDefined(third)
    assert.isDefined(fourth)
    const broken = { ...second, batches: second.batches.map((batch) => ({ ...batch, events: ["{}"] })) }
    const foreign = { ...third, targetId: first.targetId, link: first.link }
    const results = await appendAll([first, broken, foreign, fourth], new Map([[fourth, "refused"]]))
    assert.deepStrictEqual(
      results.map((result) => (Result.isFailure(result) ? result.failure : result.success[0])),
      [
        { runId: one.runId, seq: 2 },
        { runId: two.runId, seq: 0, refusal: "broken" },
        { runId: three.runId, seq: 0, refusal: "unknown" },
        "refused"
      ]
    )
    const stored = await rowsOf(runs.map(({ runId }) => runId))
    assert.deepStrictEqual(
      stored.map(([row]) => row?.["last_seq"]),
      [2, 0, 0, 0]
    )
  })
})
