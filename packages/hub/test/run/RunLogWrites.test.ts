import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { DeviceId, ProjectId, RunId, UserId } from "@corral/domain/identity/Ids"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import {
  createdRun,
  linesOf,
  messageDelta,
  Mirror,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Statements } from "../harness/Statements.ts"
import type { PushedRun } from "../../src/run/PushedRun.ts"
import { lockedKnown, lockRuns, storeKnown } from "../../src/run/RunLogWrites.ts"
import { PlannedSql } from "../../src/store/Database.ts"

interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Cond"?: string
  readonly Plans?: ReadonlyArray<PlanNode>
}

const nodesOf = (node: PlanNode): ReadonlyArray<PlanNode> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

interface LinkedRun {
  readonly runId: RunId
  readonly deviceId: DeviceId
}

describe("storeKnown", () => {
  const hub = new HubInProcess()
  let project: ProjectId
  let owner: UserId | undefined
  beforeAll(async () => {
    const started = await startMirror(hub)
    owner = started.ada.userId
    project = started.project
  })
  afterAll(() => hub.remove())

  const statements = new Statements(hub)

  /** A run with two events, of a device whose link is the first one. */
  const openRun = async (): Promise<LinkedRun> => {
    const mirror = new Mirror(hub)
    const deviceId = await mirror.device(owner)
    return { deviceId, runId: await mirror.run(project, createdRun, runStarted) }
  }

  /** The runs with their third event, which is not stored. */
  const withThird = async (linked: ReadonlyArray<LinkedRun>) => {
    const ids = linked.map(({ runId }) => runId)
    const runs = await hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => lockRuns(sql, ids)))
    for (const [runId, run] of runs)
      run.push({ runId, firstSeq: 3, events: linesOf(runId, 3, [messageDelta("a")]) })
    return [...runs.values()]
  }

  /** Pushes the third event of each run in one statement, and returns the runs that were stored. */
  const pushThird = async (linked: ReadonlyArray<LinkedRun>, generation = 0) => {
    const runs = await withThird(linked)
    return store(linked, runs, generation)
  }

  const store = (linked: ReadonlyArray<LinkedRun>, runs: ReadonlyArray<PushedRun>, generation = 0) =>
    hub.people.act(
      Effect.flatMap(PlannedSql, (sql) =>
        storeKnown(
          sql,
          [...new Set(linked.map(({ deviceId }) => deviceId))].map((deviceId) => ({ deviceId, generation })),
          { runs, resolved: { approvals: [], inputs: [] }, at: new Date() }
        )
      )
    )

  /** `pushThird` while a transaction executes `statement`. The transaction commits once the push waits. */
  const pushThirdDuring = async (linked: ReadonlyArray<LinkedRun>, statement: string) => {
    const runs = await withThird(linked)
    const commit = await statements.hold(statement)
    const stored = store(linked, runs)
    await statements.untilOneWaits()
    await commit()
    return [...(await stored)]
  }

  const lengthOf = async ({ runId }: LinkedRun) => {
    const [row] = await statements.execute(`
      SELECT last_seq, (SELECT count(*)::int FROM run_events e WHERE e.run_id = runs.id AND e.last_seq = 3) AS third
      FROM runs WHERE id = '${runId}'`)
    return row
  }

  it("stores the runs of newest links, and no others", async () => {
    const [one, two, three] = [await openRun(), await openRun(), await openRun()]
    await statements.execute(`UPDATE devices SET generation = 1 WHERE id = '${two.deviceId}'`)
    await statements.execute(`UPDATE devices SET revoked_at = now() WHERE id = '${three.deviceId}'`)
    assert.deepStrictEqual([...(await pushThird([one, two, three]))], [one.runId])
    assert.deepStrictEqual([...(await pushThird([two, three], 1))], [two.runId])
    assert.deepStrictEqual(await lengthOf(one), { last_seq: 3, third: 1 })
    assert.deepStrictEqual(await lengthOf(two), { last_seq: 3, third: 1 })
    assert.deepStrictEqual(await lengthOf(three), { last_seq: 2, third: 0 })
  })

  it("stores no run of another device than the link's", async () => {
    const [linked, foreign] = [await openRun(), await openRun()]
    const claimed = [linked, { ...foreign, deviceId: linked.deviceId }]
    assert.deepStrictEqual([...(await pushThird(claimed))], [linked.runId])
    assert.deepStrictEqual(await lengthOf(foreign), { last_seq: 2, third: 0 })
  })

  it("stores nothing over a link that another transaction replaces meanwhile", async () => {
    const [one, two] = [await openRun(), await openRun()]
    const replaced = `UPDATE devices SET generation = generation + 1 WHERE id = '${two.deviceId}'`
    assert.deepStrictEqual(await pushThirdDuring([one, two], replaced), [one.runId])
    assert.deepStrictEqual(await lengthOf(two), { last_seq: 2, third: 0 })
  })

  it("stores nothing in a log that another transaction extends meanwhile", async () => {
    const [one, two] = [await openRun(), await openRun()]
    const extended = `UPDATE runs SET last_seq = last_seq + 1 WHERE id = '${two.runId}'`
    assert.deepStrictEqual(await pushThirdDuring([one, two], extended), [one.runId])
    assert.deepStrictEqual(await lengthOf(two), { last_seq: 3, third: 0 })
  })

  it("finds each device and run by its key with a generic plan, also in small tables", async () => {
    const plan = await hub.people.act(
      Effect.flatMap(PlannedSql, (sql) => {
        const [text, parameters] = sql`WITH ${lockedKnown(sql, [], [])} SELECT id FROM held`.compile()
        const empty = parameters.map(() => "'{}'").join(", ")
        return sql.withTransaction(
          Effect.andThen(
            sql.unsafe(`PREPARE locked AS ${text}`),
            sql.unsafe<{ readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: PlanNode }> }>(
              `EXPLAIN (FORMAT JSON) EXECUTE locked (${empty})`
            )
          )
        )
      })
    )
    const [explained] = plan[0]?.["QUERY PLAN"] ?? []
    assert.isDefined(explained)
    assert.deepStrictEqual(
      nodesOf(explained.Plan).flatMap((node) =>
        node["Relation Name"] === undefined
          ? []
          : [[node["Relation Name"], node["Node Type"], node["Index Cond"]]]
      ),
      [
        ["devices", "Index Scan", "(id = link.id)"],
        ["runs", "Index Scan", "(id = known.id)"]
      ]
    )
  })
})
