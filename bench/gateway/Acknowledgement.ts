/** How long a platform waits until its event is kept: at a steady pace, and where very many come at once. */
import { interleave } from "../Pair.ts"
import { atMost, type Goal, type Report } from "../Report.ts"
import { median, quantile } from "../Statistics.ts"
import { messages, sendAll } from "./Events.ts"
import { type GatewayBenchOptions, type GatewayPair, withGatewayPair } from "./GatewayPair.ts"

interface Load {
  readonly name: string
  readonly count: number
  readonly perSecond?: number
  /** For the p99. */
  readonly goal: Goal
}

const PER_SECOND = 500
const SECONDS = 20
const BURST = 2_000
const WARM_UP = 1_000

const measure = async (pair: GatewayPair, { rounds }: GatewayBenchOptions, load: Load, report: Report) => {
  const { count, goal, name, perSecond } = load
  let lost = 0
  let round = 0
  const taken = await interleave(rounds, async (side) => {
    const prefix = `${name.replaceAll(" ", "_")}_${round++}`
    const times = await sendAll(pair.urls[side], messages(prefix, count), perSecond)
    // All of them were acknowledged: they must be there. An id is there once at most, says the store.
    if (side === "edge") lost += count - (await pair.kept(prefix))
    return times
  })
  for (const share of [0.5, 0.99]) {
    const of = (side: "edge" | "floor") => median(taken[side].map((times) => quantile(times, share)))
    report.add({
      figure: `an event until it is kept, ${name}, p${share * 100}`,
      unit: "ms",
      edge: of("edge"),
      floor: of("floor"),
      rounds,
      ...(share === 0.99 ? { goal, lost } : {})
    })
  }
}

const withLoad =
  (load: Load) =>
  (options: GatewayBenchOptions, report: Report): Promise<void> =>
    withGatewayPair(options, async (pair) => {
      for (const url of Object.values(pair.urls))
        await sendAll(url, messages(`warm_${load.count}`, WARM_UP), PER_SECOND)
      await measure(pair, options, load, report)
    })

export const steady = withLoad({
  name: `${PER_SECOND} a second`,
  count: PER_SECOND * SECONDS,
  perSecond: PER_SECOND,
  goal: atMost(50)
})

export const burst = withLoad({ name: `${BURST} at once`, count: BURST, goal: atMost(3_000) })
