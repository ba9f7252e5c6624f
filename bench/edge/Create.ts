/**
 * How long a person waits for a run's first sign of life, on a stream of all runs that is already open: from the request to
 * `run.created`, which the server writes, and to `run.started`, the first word of the program (most of it is that program's own start).
 */
import { compared, eachSide, interleave, on, type Pair, sidesOf, withPair } from "../Pair.ts"
import { atMostOverFloor, type Report } from "../Report.ts"
import type { BenchSide } from "../Builds.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { createBenchRun } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

const RUNS_A_ROUND = 8

/** One run at a time: what comes is of the run that was created last. */
class FirstEvents {
  private seen = new Map<string, number>()
  private ended: () => void = () => undefined

  readonly onEvent = (_runId: string, type: string): void => {
    this.seen.set(type, performance.now())
    if (type === "run.completed") this.ended()
  }

  /** Milliseconds from the request to both events, of a run that says one word. */
  async measure(pair: Pair, side: BenchSide) {
    this.seen = new Map()
    const end = new Promise<void>((resolve) => {
      this.ended = resolve
    })
    const begin = performance.now()
    await createBenchRun(on(pair, side), "/say done")
    await end
    const after = (type: string) => (this.seen.get(type) ?? Number.NaN) - begin
    return { created: after("run.created"), started: after("run.started") }
  }
}

export const measureCreate = (options: EdgeBenchOptions, report: Report): Promise<void> =>
  withPair(options, async (pair) => {
    const sides = sidesOf(options)
    const events = await eachSide(options, () => new FirstEvents())
    const readers = await Promise.all(
      sides.map((side) => Subscriber.open(on(pair, side), { onEvent: on(events, side).onEvent }))
    )
    const measure = (side: BenchSide) => on(events, side).measure(pair, side)
    await interleave(4, measure, sides)
    const rounds = options.rounds * RUNS_A_ROUND
    const taken = await interleave(rounds, measure, sides)
    const figure = (of: "created" | "started") => ({
      figure: `create → run.${of}`,
      unit: "ms",
      ...compared(taken, (each) => each[of]),
      goal: atMostOverFloor(6),
      rounds
    })
    report.add(figure("created"))
    report.add(figure("started"))
    for (const reader of readers) reader.drop()
  })
