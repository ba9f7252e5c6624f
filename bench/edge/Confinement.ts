/**
 * What the confinement of a run costs: from the request to the program's first word, for three kinds of programs, and the memory of the processes
 * of a run that waits. The floor is this Edge without confinement.
 */
import type { BenchSide } from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf, withPair } from "../Pair.ts"
import { atMostOverFloor, type Report } from "../Report.ts"
import { BenchTarget, type Home } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents, type FollowedAgent } from "./FirstEvents.ts"
import { createBenchRun } from "./RunClient.ts"

const RUNS_A_ROUND = 8
/** Runs that wait while their memory is read. */
const WAITING = 10

const kinds: Readonly<Record<FollowedAgent, string>> = {
  quick: "a native program",
  scripted: "Node without a client",
  fetching: "Node with fetch"
}
const agents = ["quick", "scripted", "fetching"] as const

/** Kilobytes of the processes of one waiting run. */
const memoryOfRun = async (target: BenchTarget, events: FirstEvents): Promise<number> => {
  const before = target.runMemory()
  for (let run = 0; run < WAITING; run++) {
    const started = events.next("run.started")
    await createBenchRun(target, "/wait")
    await started
  }
  return (target.runMemory() - before) / WAITING
}

export const measureConfinement = (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const sides = sidesOf(options)
  const rounds = options.rounds * RUNS_A_ROUND
  const start = (side: BenchSide, home: Home) =>
    BenchTarget.start(side === "floor" ? "edge" : side, home, {
      ...options,
      hasQuick: true,
      confinement: side === "floor" ? "off" : "required"
    })
  return withPair(
    options,
    async (pair) => {
      const events = await eachSide(options, (side) => FirstEvents.open(on(pair, side)))
      for (const agentId of agents) {
        const run = async (side: BenchSide) => {
          const { after } = await on(events, side).follow({ agentId, text: "/say done" }, "run.completed")
          return after("run.started")
        }
        await interleave(4, run, sides)
        const started = compared(await interleave(rounds, run, sides), (each) => each)
        const figure = `create → run.started, confined, ${kinds[agentId]}`
        report.add({ figure, unit: "ms", ...started, goal: atMostOverFloor(25), rounds })
      }
      const memory = await interleave(1, (side) => memoryOfRun(on(pair, side), on(events, side)), sides)
      const figure = "memory of a waiting run's processes, confined"
      const goal = atMostOverFloor(5_120)
      report.add({ figure, unit: "KB", ...compared(memory, (each) => each), goal, rounds: 1 })
      for (const side of sides) on(events, side).drop()
    },
    start
  )
}
