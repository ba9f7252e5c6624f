/** `npm run test:failover`: Hubs on a cluster of PostgreSQL whose machines fail. `CORRAL_SEED` repeats the same order, `CORRAL_KILLS` sets the number of kills. */
import { clusterProblem } from "./PostgresCluster.ts"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { chanceOf } from "../joined/Chaos.ts"
import { duringWork, untilWritable, type WorkingHubs } from "./WorkingHubs.ts"

const KILLS = Number(process.env["CORRAL_KILLS"] ?? 20)
const WRITABLE_WITHIN_MS = 15_000

/** Calls it once, then waits for the end of the run. */
const once = (trouble: (hubs: WorkingHubs) => Promise<void>) => {
  let isDone = false
  return async (hubs: WorkingHubs) => {
    if (isDone) return pause(500)
    await pause(2_000)
    await trouble(hubs)
    isDone = true
  }
}

const report = (what: string, millis: number): void => {
  process.stderr.write(`${what}: writable after ${millis.toFixed(0)} ms\n`)
  assert.isAtMost(millis, WRITABLE_WITHIN_MS, what)
}

describe.skipIf(clusterProblem() !== undefined)("Hubs on a cluster", () => {
  it(`lose nothing in ${KILLS} failures of the primary`, async () => {
    const chance = chanceOf()
    let kills = 0
    await duringWork({ seconds: KILLS * 25 }, async ({ cluster, joined }) => {
      if (kills === KILLS) return pause(500)
      await pause(1_000 + chance.below(2_000))
      const primary = await cluster.primary()
      const isWholeMachine = chance.below(2) === 0
      if (isWholeMachine) cluster.kill(primary)
      else cluster.killDatabase(primary)
      kills++
      report(`${isWholeMachine ? "machine" : "database"} ${primary} failed`, await untilWritable(joined))
      if (isWholeMachine) cluster.start(primary)
      else cluster.startDatabase(primary)
      await cluster.whole()
    })
    assert.strictEqual(kills, KILLS)
  })

  it("lose nothing without the synchronous standby", () =>
    duringWork(
      { seconds: 40 },
      once(async ({ cluster, joined }) => {
        const standby = (await cluster.members()).find(({ role }) => role === "sync_standby")
        assert.isDefined(standby)
        cluster.kill(standby.name)
        report("standby failed", await untilWritable(joined))
        cluster.start(standby.name)
        await cluster.whole()
      })
    ))

  it("lose nothing without the leader of etcd", () =>
    duringWork(
      { seconds: 40 },
      once(async ({ cluster, joined }) => {
        const leader = await cluster.etcdLeader()
        cluster.killEtcd(leader)
        report("leader of etcd failed", await untilWritable(joined))
        cluster.startEtcd(leader)
        await cluster.whole()
      })
    ))

  it("lose nothing while they can't reach the primary for 30 s, which stays primary", () =>
    duringWork(
      { seconds: 60 },
      once(async ({ cluster, joined }) => {
        const primary = await cluster.primary()
        cluster.network.cut(primary, cluster.network.hostAddress)
        await pause(30_000)
        cluster.network.heal(primary, cluster.network.hostAddress)
        report("network is back", await untilWritable(joined))
        assert.strictEqual(await cluster.primary(), primary)
      })
    ))

  it("lose nothing when the disk of the primary is full", () =>
    duringWork(
      { seconds: 60, diskMegabytes: 900 },
      once(async ({ cluster, joined }) => {
        const primary = await cluster.primary()
        const filledAt = performance.now()
        cluster.fillDisk(primary)
        await until(
          async () => ((await cluster.primary()) === primary ? undefined : true),
          "another primary",
          60_000
        )
        await untilWritable(joined)
        report("disk full", performance.now() - filledAt)
        cluster.freeDisk(primary)
        await cluster.whole()
      })
    ))
})
