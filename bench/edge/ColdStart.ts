/** How long until a server serves: from spawn to its ready line, on a store that is there already. */
import type { BenchSide } from "../Builds.ts"
import { compared, eachSide, interleave, on, sidesOf } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import { makeHome, removeHome, BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"

export const measureColdStart = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const homes = await eachSide(options, makeHome)
  const start = async (side: BenchSide) => {
    const target = await BenchTarget.start(side, on(homes, side), options)
    await target.stop()
    return target.readyAfter
  }
  try {
    await interleave(1, start, sidesOf(options))
    const rounds = options.rounds * 3
    const taken = await interleave(rounds, start, sidesOf(options))
    report.add({
      figure: "cold start",
      unit: "ms",
      ...compared(taken, (millis) => millis),
      goal: atMost(400),
      rounds
    })
  } finally {
    Object.values(homes).forEach(removeHome)
  }
}
