/** A request behind a sign-in that does next to nothing: who is signed in. */
import { compared, interleave, on, sidesOf } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import type { Report } from "../Report.ts"
import { atLeastOfFloor } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubSide, withHubPair } from "./HubPair.ts"
import { Client, take } from "./Requests.ts"

const COUNT = 3_000
const AT_ONCE = 16

export const measureSignedIn = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async ({ sides, token }) => {
    const client = new Client(token, AT_ONCE)
    const measure = async ({ pid, url }: HubSide) => {
      const before = cpuMicrosOf(pid)
      const { rate, times } = await take(COUNT, AT_ONCE, () => client.body(`${url}/client/auth/me`))
      return { rate, p99: quantile(times, 0.99), cpu: (cpuMicrosOf(pid) - before) / COUNT }
    }
    const round = (rounds: number) => interleave(rounds, (side) => measure(on(sides, side)), sidesOf(options))
    try {
      await round(1)
      const taken = await round(options.rounds)
      const figure = (name: string, unit: string, of: "rate" | "p99" | "cpu") => ({
        figure: `who is signed in, ${name}`,
        unit,
        ...compared(taken, (each) => each[of]),
        rounds: options.rounds
      })
      report.add({ ...figure("requests a second", "/s", "rate"), goal: atLeastOfFloor(0.4) })
      report.add(figure("p99", "ms", "p99"))
      report.add(figure("server CPU", "µs", "cpu"))
    } finally {
      client.close()
    }
  })
