/**
 * How long an event is under way, from the program's write to a reader, durable in between, at 100 and at 1,000 events a second; and
 * what an event costs at that pace, where nearly each one is a chunk and its own commit.
 */
import { comparedSets, lostOf, onFreshServers } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { holdStream, settle } from "./RunClient.ts"

const SIZE = 100
const paces = [
  { rate: 100, seconds: 5, goals: { p50: { goal: atMost(0.6) }, p99: { goal: atMost(5) } } },
  { rate: 1_000, seconds: 3, goals: { p50: {}, p99: {} } }
]

const follow = async (target: BenchTarget, rate: number, count: number) => {
  const held = await holdStream(target, { count, rate, size: SIZE }, 1, { latencies: true })
  const cpu = target.cpuMicros()
  await held.begin()
  await Promise.all(held.readers.map((reader) => reader.until(held.deltas)))
  const spent = target.cpuMicros() - cpu
  const lost = await settle(held)
  const latencies = held.readers.flatMap((reader) => reader.latencies)
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), cpu: spent / count, lost }
}

export const measureLatency = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const taken = await onFreshServers(
    options,
    paces,
    (target) => follow(target, 5_000, 10_000),
    (target, { rate, seconds }) => follow(target, rate, rate * seconds)
  )
  for (const [{ rate, goals }, sets] of taken) {
    const figure = (name: string, unit: string, of: "p50" | "p99" | "cpu") => ({
      figure: `${name} at ${rate} events/s`,
      unit,
      ...comparedSets(sets, (each) => each[of]),
      lost: lostOf(sets),
      rounds: options.rounds * options.servers
    })
    report.add({ ...figure("latency p50", "ms", "p50"), ...goals.p50 })
    report.add({ ...figure("latency p99", "ms", "p99"), ...goals.p99 })
    report.add(figure("server CPU per event", "µs", "cpu"))
  }
}
