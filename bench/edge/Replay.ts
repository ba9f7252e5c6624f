/** How long a late reader waits until it has everything: a connection to a run that has ended, until the server closes it. */
import { compared, eachSide, interleave, on, sidesOf, withPair } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import type { BenchSide } from "../Builds.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { holdStream, settle } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

const SIZE = 100
const logs = [
  { count: 10_000, goal: {} },
  { count: 100_000, goal: { goal: atMost(400) } }
]

export const measureReplay = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withPair(options, async (pair) => {
    for (const { count, goal } of logs) {
      const write = async (side: BenchSide) => {
        const held = await holdStream(on(pair, side), { count, rate: 0, size: SIZE }, 1)
        await held.begin()
        await settle(held)
        return held
      }
      const written = await eachSide(options, write)
      const read = async (side: BenchSide) => {
        const { id, deltas } = on(written, side)
        const begin = performance.now()
        const reader = await Subscriber.open(on(pair, side), { runId: id })
        await reader.closed
        const millis = performance.now() - begin
        return { millis, lost: await settle({ ...on(written, side), readers: [reader], deltas }) }
      }
      await interleave(1, read, sidesOf(options))
      const taken = await interleave(options.rounds, read, sidesOf(options))
      report.add({
        figure: `replay of ${count} events`,
        unit: "ms",
        ...compared(taken, ({ millis }) => millis),
        ...goal,
        lost: taken.edge.reduce((sum, { lost }) => sum + lost, 0),
        rounds: options.rounds
      })
    }
  })
