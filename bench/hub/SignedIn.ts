/** A request behind a sign-in that does next to nothing: who is signed in. */
import type { Report } from "../Report.ts"
import { atLeastOfFloor } from "../Report.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import { median, quantile } from "../Statistics.ts"
import type { HubBenchOptions } from "./HubBench.ts"
import { type HubSide, withHubPair } from "./HubPair.ts"
import { Client, take } from "./Requests.ts"

const COUNT = 3_000
const AT_ONCE = 16

export const measureSignedIn = (options: HubBenchOptions, report: Report): Promise<void> =>
  withHubPair(options, async (pair) => {
    const client = new Client(pair.token, AT_ONCE)
    const sides = { hub: pair.hub, floor: pair.floor }
    const measure = async ({ pid, url }: HubSide) => {
      const before = cpuMicrosOf(pid)
      const { rate, times } = await take(COUNT, AT_ONCE, () => client.body(`${url}/client/auth/me`))
      return { rate, p99: quantile(times, 0.99), cpu: (cpuMicrosOf(pid) - before) / COUNT }
    }
    try {
      const taken = { hub: [await measure(sides.hub)], floor: [await measure(sides.floor)] }
      // Those were to warm up.
      taken.hub.length = 0
      taken.floor.length = 0
      for (let round = 0; round < options.rounds; round++) {
        const order = ["hub", "floor"] as const
        for (const side of round % 2 === 0 ? order : order.toReversed())
          taken[side].push(await measure(sides[side]))
      }
      const figure = (name: string, unit: string, of: "rate" | "p99" | "cpu") => ({
        figure: `who is signed in, ${name}`,
        unit,
        edge: median(taken.hub.map((each) => each[of])),
        floor: median(taken.floor.map((each) => each[of])),
        rounds: options.rounds
      })
      report.add({ ...figure("requests a second", "/s", "rate"), goal: atLeastOfFloor(0.4) })
      report.add(figure("p99", "ms", "p99"))
      report.add(figure("server CPU", "µs", "cpu"))
    } finally {
      client.close()
    }
  })
