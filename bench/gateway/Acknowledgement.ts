/** Time until an event is acknowledged: at a steady rate, and in a burst. */
import { compared, interleave, on, sidesOf } from "../Pair.ts"
import { atMost, type Goal, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import { type Answered, idOf, messages, sendAll } from "./Events.ts"
import { type GatewayBenchOptions, type GatewayPair, withGatewayPair } from "./GatewayPair.ts"

interface Load {
  readonly name: string
  readonly count: number
  readonly perSecond?: number
  /** For the p99. */
  readonly goal: Goal
}

const acknowledged = ({ acknowledged: taken }: Answered): boolean => taken

const PER_SECOND = 500
const SECONDS = 20
const BURST = 2_000
const WARM_UP = 1_000

const measure = async (pair: GatewayPair, options: GatewayBenchOptions, load: Load, report: Report) => {
  const { rounds } = options
  const { count, goal, name, perSecond } = load
  let lost = 0
  let round = 0
  const taken = await interleave(
    rounds,
    async (side) => {
      const { url } = on(pair.sides, side)
      const prefix = `${name.replaceAll(" ", "_")}_${round++}`
      const answers = await sendAll(url, messages(prefix, count), perSecond)
      if (side === "edge") {
        // What was acknowledged must be there. It is not there twice: the store takes an id once.
        const ids = answers.flatMap((answer, at) => (acknowledged(answer) ? [idOf(prefix, at)] : []))
        lost += ids.length - (await pair.stored(ids))
      }
      return answers
    },
    sidesOf(options)
  )
  for (const share of [0.5, 0.99])
    report.add({
      figure: `an event until it is kept, ${name}, p${share * 100}`,
      unit: "ms",
      ...compared(taken, (answers) =>
        quantile(
          answers.map(({ millis }) => millis),
          share
        )
      ),
      rounds,
      ...(share === 0.99 ? { goal, lost } : {})
    })
  for (const side of sidesOf(options)) {
    const refused = on(taken, side).map((answers) => answers.filter((each) => !acknowledged(each)).length)
    process.stderr.write(`  ${name}, not acknowledged at the ${side}: ${refused.join(", ")}\n`)
  }
}

const withLoad =
  (load: Load) =>
  (options: GatewayBenchOptions, report: Report): Promise<void> =>
    withGatewayPair(options, async (pair) => {
      for (const side of sidesOf(options))
        await sendAll(on(pair.sides, side).url, messages(`warm_${load.count}`, WARM_UP), PER_SECOND)
      await measure(pair, options, load, report)
    })

export const steady = withLoad({
  name: `${PER_SECOND} a second`,
  count: PER_SECOND * SECONDS,
  perSecond: PER_SECOND,
  goal: atMost(50)
})

export const burst = withLoad({ name: `${BURST} at once`, count: BURST, goal: atMost(3_000) })
