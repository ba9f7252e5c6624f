/**
 * What the confinement of a run costs: from the request to the program's first word, for three kinds of programs, and the memory of the processes
 * of a run that waits. Also in repositories of 1,000 and 100,000 files. The floor is this Edge without confinement.
 */
import type { BenchSide } from "../Builds.ts"
import { compared, eachSide, interleave, on, type Pair, type Sides, sidesOf, withPair } from "../Pair.ts"
import { atMostOverFloor, type Report } from "../Report.ts"
import { BenchTarget, type Home } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents, type FollowedAgent } from "./FirstEvents.ts"
import { makeRepository } from "./Repository.ts"
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

/** Calls `body` with confined servers, and the floor without confinement. */
const withConfined = (
  options: EdgeBenchOptions,
  body: (pair: Pair, events: Sides<FirstEvents>) => Promise<void>,
  prepare: (home: Home) => void = () => undefined
): Promise<void> =>
  withPair(
    options,
    async (pair) => {
      const events = await eachSide(options, (side) => FirstEvents.open(on(pair, side)))
      await body(pair, events)
      for (const side of sidesOf(options)) on(events, side).drop()
    },
    (side, home) => {
      prepare(home)
      return BenchTarget.start(side === "floor" ? "edge" : side, home, {
        ...options,
        hasQuick: true,
        confinement: side === "floor" ? "off" : "required"
      })
    }
  )

/** Milliseconds from the request to the program's first word. */
const startOf = async (events: FirstEvents, agentId: FollowedAgent): Promise<number> => {
  const { after } = await events.follow({ agentId, text: "/say done" }, "run.completed")
  return after("run.started")
}

export const measureConfinement = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const sides = sidesOf(options)
  const rounds = options.rounds * RUNS_A_ROUND
  const addStarts = async (events: Sides<FirstEvents>, agentId: FollowedAgent, what: string) => {
    const run = (side: BenchSide) => startOf(on(events, side), agentId)
    await interleave(4, run, sides)
    const started = compared(await interleave(rounds, run, sides), (each) => each)
    const figure = `create → run.started, confined, ${what}`
    report.add({ figure, unit: "ms", ...started, goal: atMostOverFloor(25), rounds })
  }
  await withConfined(options, async (pair, events) => {
    for (const agentId of agents) await addStarts(events, agentId, kinds[agentId])
    const memory = await interleave(1, (side) => memoryOfRun(on(pair, side), on(events, side)), sides)
    const figure = "memory of a waiting run's processes, confined"
    const goal = atMostOverFloor(5_120)
    report.add({ figure, unit: "KB", ...compared(memory, (each) => each), goal, rounds: 1 })
  })
  await withConfined(
    options,
    (_, events) => addStarts(events, "quick", `${kinds.quick}, a repository of 1,000 files`),
    ({ workspace }) => makeRepository(workspace, 1_000)
  )
}

/** The first run in a big repository takes its first snapshot; later ones continue from it. */
export const measureLargeRepository = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withConfined(
    options,
    async (_, events) => {
      const sides = sidesOf(options)
      const run = (side: BenchSide) => startOf(on(events, side), "quick")
      const add = async (what: string, rounds: number) => {
        const figure = `create → run.started, confined, a repository of 100,000 files, ${what}`
        const started = compared(await interleave(rounds, run, sides), (each) => each)
        report.add({ figure, unit: "ms", ...started, rounds })
      }
      await add("the first run", 1)
      await add("later runs", options.rounds)
    },
    ({ workspace }) => makeRepository(workspace, 100_000)
  )
