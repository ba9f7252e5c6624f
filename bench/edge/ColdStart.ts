/** How long until a server serves: from spawn to its ready line, on a store that is there already. */
import { interleave } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import { median } from "../Statistics.ts"
import { makeHome, removeHome, type Side, Target } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"

export const coldStart = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const homes = { floor: makeHome(), edge: makeHome() }
  const start = async (side: Side) => {
    const target = await Target.start(side, homes[side], options)
    await target.stop()
    return target.readyAfter
  }
  try {
    await interleave(1, start)
    const rounds = options.rounds * 3
    const taken = await interleave(rounds, start)
    report.add({
      figure: "cold start",
      unit: "ms",
      edge: median(taken.edge),
      floor: median(taken.floor),
      goal: atMost(400),
      rounds
    })
  } finally {
    removeHome(homes.floor)
    removeHome(homes.edge)
  }
}
