/**
 * How much a sustained stream costs: server CPU per event, and events a second with 1, 10 and 100 readers of one run.
 *
 * The program and the readers are processes of their own, on the same cores: events a second is what all of them together reach.
 */
import type { Report } from "../Report.ts"
import { atMost } from "../Report.ts"
import { comparedSets, lostOf, onFreshServers } from "../Pair.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { holdStream, settle } from "./RunClient.ts"

/** Characters of text in a delta: an envelope of about 330 bytes. */
const SIZE = 100
const shapes = [
  { readers: 1, count: 100_000 },
  { readers: 10, count: 20_000 },
  { readers: 100, count: 5_000 }
]

const stream = async (target: BenchTarget, readers: number, count: number) => {
  const held = await holdStream(target, { count, rate: 0, size: SIZE }, readers)
  const cpu = target.cpuMicros()
  const begin = performance.now()
  await held.begin()
  await Promise.all(held.readers.map((reader) => reader.until(held.deltas)))
  const spent = target.cpuMicros() - cpu
  const end = Math.max(...held.readers.map(({ lastDeltaAt }) => lastDeltaAt))
  return { cpu: spent / count, rate: (count * 1_000) / (end - begin), lost: await settle(held) }
}

export const measureThroughput = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const taken = await onFreshServers(
    options,
    shapes,
    // A sustained stream: after fewer events, much of the time is that of the compiler.
    (target) => stream(target, 1, 150_000),
    (target, { count, readers }) => stream(target, readers, count)
  )
  for (const [{ readers }, sets] of taken) {
    const figure = (name: string, unit: string, of: "cpu" | "rate") => ({
      figure: `${name}, ${readers} reader${readers === 1 ? "" : "s"}`,
      unit,
      ...comparedSets(sets, (each) => each[of]),
      lost: lostOf(sets),
      rounds: options.rounds * options.servers
    })
    const cpu = figure("server CPU per event", "µs", "cpu")
    report.add(readers === 1 ? { ...cpu, goal: atMost(10) } : cpu)
    report.add(figure("events a second", "/s", "rate"))
  }
}
