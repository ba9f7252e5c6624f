/** `npm run test:failover`: Hubs on a cluster of PostgreSQL whose machines fail. `CORRAL_SEED` repeats the same order, `CORRAL_KILLS` sets the number of kills. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { clusterProblem, PostgresCluster } from "@corral/testing/cluster/PostgresCluster"
import { openJoined, type Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { setTimeout as pause } from "node:timers/promises"
import { chanceOf, duringRun } from "../joined/Chaos.ts"
import { SteadyWork } from "./SteadyWork.ts"

const KILLS = Number(process.env["CORRAL_KILLS"] ?? 20)
const WRITABLE_WITHIN_MS = 15_000
const EVENTS_PER_SECOND = 100

const openCluster = async (): Promise<PostgresCluster> => {
  const cluster = await PostgresCluster.open()
  onTestFinished(() => cluster.close())
  return cluster
}

/** Milliseconds until a Hub accepts a write again. */
const untilWritable = async (joined: Joined): Promise<number> => {
  const startedAt = performance.now()
  await until(
    async () => {
      const answer = await joined.owner
        .ask("POST", "/client/sessions", { body: { projectId: joined.projectId, title: "Probe" } })
        .catch(() => undefined)
      return answer?.status === 201 ? true : undefined
    },
    "a write",
    120_000
  )
  return performance.now() - startedAt
}

describe.skipIf(clusterProblem() !== undefined)("Hubs on a cluster", () => {
  it(`lose nothing in ${KILLS} failures of the primary`, async () => {
    const chance = chanceOf()
    const cluster = await openCluster()
    const joined = await openJoined({
      databaseUrl: cluster.url,
      edge: { grants: ["full_access"] }
    })
    const work = new SteadyWork(joined)
    await work.start()
    const outages: Array<number> = []
    const seconds = KILLS * 30
    await duringRun(joined, { events: seconds * EVENTS_PER_SECOND, rate: EVENTS_PER_SECOND }, async () => {
      if (outages.length === KILLS) return pause(500)
      await pause(1_000 + chance.below(2_000))
      const primary = await cluster.primary()
      const isWholeMachine = chance.below(2) === 0
      if (isWholeMachine) cluster.kill(primary)
      else cluster.killDatabase(primary)
      outages.push(await untilWritable(joined))
      process.stderr.write(
        `${isWholeMachine ? "machine" : "database"} ${primary} failed: writable after ${outages.at(-1)?.toFixed(0)} ms\n`
      )
      if (isWholeMachine) cluster.start(primary)
      else cluster.startDatabase(primary)
      await cluster.whole()
    })
    await work.stop()
    await work.check()
    process.stderr.write(
      `${work.tasks.length} tasks, ${work.messages.length} messages, ${work.decided.length} decisions, ${work.repeated} repeated requests\n`
    )
    assert.strictEqual(outages.length, KILLS)
    assert.isAtMost(Math.max(...outages), WRITABLE_WITHIN_MS)
  })
})
