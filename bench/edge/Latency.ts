/**
 * How long an event is under way, from the program's write to a reader, durable in between, at 100 and at 1,000 events a second, and as fast as
 * the program can write, to 1, 10 and 100 readers; and what an event costs at that pace. At a low pace, nearly each one is a chunk and its own commit. The
 * floor without durability shows what of it is the disk.
 */
import { comparedSets, lostOf, onFreshServers } from "../Pair.ts"
import { atMost, atMostTimesFloor, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { holdStream, settle } from "./RunClient.ts"

const SIZE = 100
const paces = [
  {
    pace: "at 100 events/s",
    rate: 100,
    count: 500,
    readers: 1,
    goals: {
      p50: { goal: atMostTimesFloor(1.1) },
      p99: { goal: atMost(5) },
      cpu: { goal: atMostTimesFloor(1.1) }
    }
  },
  {
    pace: "at 1000 events/s",
    rate: 1_000,
    count: 3_000,
    readers: 1,
    goals: { p50: { goal: atMostTimesFloor(1.1) }, p99: {}, cpu: {} }
  },
  ...[
    { readers: 1, count: 100_000 },
    { readers: 10, count: 20_000 },
    { readers: 100, count: 5_000 }
  ].map(({ readers, count }) => ({
    pace: `at saturation, ${readers} reader${readers === 1 ? "" : "s"}`,
    rate: 0,
    count,
    readers,
    goals: { p50: { goal: atMostTimesFloor(2.5) }, p99: {}, cpu: {} }
  }))
]

const follow = async (target: BenchTarget, rate: number, count: number, readers = 1) => {
  const held = await holdStream(target, { count, rate, size: SIZE }, readers, { latencies: true })
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
    { ...options, hasVolatile: true },
    paces,
    (target) => follow(target, 5_000, 10_000),
    (target, { count, rate, readers }) => follow(target, rate, count, readers)
  )
  for (const [{ goals, pace }, sets] of taken) {
    const figure = (name: string, unit: string, of: "p50" | "p99" | "cpu") => ({
      figure: `${name} ${pace}`,
      unit,
      ...comparedSets(sets, (each) => each[of]),
      lost: lostOf(sets),
      rounds: options.rounds * options.servers
    })
    report.add({ ...figure("latency p50", "ms", "p50"), ...goals.p50 })
    report.add({ ...figure("latency p99", "ms", "p99"), ...goals.p99 })
    report.add({ ...figure("server CPU per event", "µs", "cpu"), ...goals.cpu })
  }
}
