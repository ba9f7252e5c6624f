/**
 * How long a person waits for a run's first sign of life, on a stream of all runs that is already open: from the request to `run.created`,
 * which the server writes, and to `run.started`, the first word of the program. Most of the latter is the start of the program, so it is also
 * measured with one that starts within a millisecond: that is the first event.
 */
import { compared, eachSide, interleave, on, sidesOf, untilAtRest, withPair } from "../Pair.ts"
import { atMost, atMostOverFloor, type Report } from "../Report.ts"
import type { BenchSide } from "../Builds.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { FirstEvents } from "./FirstEvents.ts"

const RUNS_A_ROUND = 8

export const measureCreate = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withPair({ ...options, hasQuick: true }, async (pair) => {
    const sides = sidesOf(options)
    const events = await eachSide(options, (side) => FirstEvents.open(on(pair, side)))
    const rounds = options.rounds * RUNS_A_ROUND
    const measure = async (agentId: "scripted" | "quick") => {
      const run = async (side: BenchSide) => {
        await untilAtRest(pair, sides)
        const { after } = await on(events, side).follow({ agentId, text: "/say done" }, "run.completed")
        return { created: after("run.created"), started: after("run.started") }
      }
      await interleave(4, run, sides)
      return interleave(rounds, run, sides)
    }
    const [scripted, quick] = [await measure("scripted"), await measure("quick")]
    const unit = "ms"
    const [created, started] = [
      compared(scripted, (each) => each.created),
      compared(scripted, (each) => each.started)
    ]
    const first = compared(quick, (each) => each.started)
    report.add({ figure: "create → run.created", unit, ...created, goal: atMostOverFloor(6), rounds })
    report.add({ figure: "create → run.started", unit, ...started, goal: atMostOverFloor(6), rounds })
    report.add({ figure: "create → first event", unit, ...first, goal: atMost(10), rounds })
    for (const side of sides) on(events, side).drop()
  })
