/** `npm run test:chaos`: hours of bad days in minutes. `CORRAL_SEED` does the same again. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { setTimeout as pause } from "node:timers/promises"
import { openPostgres } from "@corral/testing/postgres/OutsidePostgres"
import { residentMemory } from "@corral/testing/process/ProcessCosts"
import { chanceOf, type Chance, duringRun, duringTasks, restartEdge, restartHub, resync } from "./Chaos.ts"
import { openJoined } from "@corral/testing/stack/Joined"

const memoryOf = (pid: number): number => residentMemory(pid) / 1_048_576

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

describe("Hub and Edge through bad days", () => {
  let chance: Chance
  beforeAll(() => {
    chance = chanceOf()
  })

  it("30,000 events while the Hub goes down for 0 to 2 s every 1 to 3 s", async () => {
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    const resyncs: Array<number> = []
    const before = joined.edge.memory
    let grown = 0
    await duringRun(joined, { events: 30_000, rate: 400 }, async (runId) => {
      await pause(1_000 + chance.below(2_000))
      await restartHub(joined, chance.below(2_000))
      resyncs.push(await resync(joined, runId))
      grown = Math.max(grown, joined.edge.memory - before)
    })
    process.stderr.write(
      `Hub down ${resyncs.length} times: synced again after ${percentile(resyncs, 0.5).toFixed(0)} ms p50, ` +
        `${percentile(resyncs, 1).toFixed(0)} ms at most; the Edge grew by ${(grown / 1_048_576).toFixed(0)} MiB\n`
    )
    assert.isAtLeast(resyncs.length, 15)
    assert.isAtMost(percentile(resyncs, 1), 2_000)
    assert.isAtMost(grown / 1_048_576, 96)
  })

  it("SIGKILL of the Hub 100 times and of the Edge 100 times, with tasks on their way", async () => {
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    const tally = await duringTasks(joined, 200, async (round) => {
      await pause(chance.below(250))
      if (round % 2 === 0) await restartHub(joined, chance.below(300))
      else await restartEdge(joined)
    })
    process.stderr.write(
      `200 kills: ${tally.completed} tasks completed, ${tally.failed} ended with their Edge\n`
    )
    assert.strictEqual(tally.completed + tally.failed, 200)
    // Of those whose Hub was killed none was lost.
    assert.isAtLeast(tally.completed, 100)
  })

  it("the link cut, half open and slow, by turns", async () => {
    const joined = await openJoined({ edge: { grants: ["full_access"] } })
    let cuts = 0
    let held = 0
    await duringRun(joined, { events: 10_000, rate: 150 }, async () => {
      await pause(300 + chance.below(900))
      joined.front.slow = chance.below(4) === 0
      if (chance.below(8) === 0) {
        held++
        joined.front.halfOpen()
      } else {
        cuts++
        joined.front.cut()
      }
    })
    joined.front.slow = false
    process.stderr.write(`${cuts} cuts, ${held} times half open\n`)
    assert.isAtLeast(cuts, 10)
  })

  it("PostgreSQL restarted under the Hub", async () => {
    const server = await openPostgres()
    const joined = await openJoined({ databaseUrl: server.url, edge: { grants: ["full_access"] } })
    let restarts = 0
    const before = memoryOf(joined.hub.pid)
    await duringRun(joined, { events: 10_000, rate: 400 }, async (runId) => {
      await pause(500 + chance.below(1_500))
      await server.restart()
      restarts++
      await resync(joined, runId)
    })
    process.stderr.write(
      `${restarts} restarts; the Hub grew by ${(memoryOf(joined.hub.pid) - before).toFixed(0)} MiB\n`
    )
    assert.isAtLeast(restarts, 5)
  })
})
