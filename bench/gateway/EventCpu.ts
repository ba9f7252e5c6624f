/** CPU of the server per event, at a load that every machine can serve: each of a few clients waits for its answer. */
import { compared, interleave, on, sidesOf } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import type { Report } from "../Report.ts"
import { messages, sendInLanes } from "./Events.ts"
import { type GatewayBenchOptions, withGatewayPair } from "./GatewayPair.ts"

const COUNT = 1_000
const AT_ONCE = 4

export const measureEventCpu = (options: GatewayBenchOptions, report: Report): Promise<void> =>
  withGatewayPair(options, async ({ sides }) => {
    let round = 0
    const measure = async (rounds: number) =>
      interleave(
        rounds,
        async (side) => {
          const { pid, url } = on(sides, side)
          const sent = messages(`cpu_${round++}`, COUNT)
          const before = cpuMicrosOf(pid)
          await sendInLanes(url, sent, AT_ONCE)
          return (cpuMicrosOf(pid) - before) / COUNT
        },
        sidesOf(options)
      )
    await measure(2)
    report.add({
      figure: `server CPU per event, ${AT_ONCE} at once`,
      unit: "µs",
      ...compared(await measure(options.rounds), (micros) => micros),
      rounds: options.rounds
    })
  })
