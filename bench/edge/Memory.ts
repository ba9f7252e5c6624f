/**
 * What a server keeps in memory: at rest, for each run that waits, for each reader that only listens.
 *
 * The differences are of anonymous memory: the program's text is shared with the runtimes it starts, so that each of them would make the
 * server look smaller. Garbage is collected before each reading, on both sides: the young generation alone takes up to 32 MB when it
 * pleases, which is more than what 200 runs hold. The system's pages hold gaps: the same build differs by a fifth from round to round. Objects
 * and buffers do not, so builds are compared by them.
 */
import { setTimeout as pause } from "node:timers/promises"
import { compared, on, sidesOf, withPair } from "../Pair.ts"
import { atMost, type Report } from "../Report.ts"
import type { BenchSide } from "../Builds.ts"
import type { BenchTarget } from "../Target.ts"
import type { EdgeBenchOptions } from "./EdgeBench.ts"
import { createBenchRun } from "./RunClient.ts"
import { Subscriber } from "./Subscriber.ts"

/** Runs and readers that are there before counting begins: they pay for what is paid once. */
const WARM_RUNS = 20
const RUNS = 200
/**
 * The first thousand readers also fill the gaps that the runs have left in the heap, or do not: with them in the count, the same build
 * measured between 7 and 18 KB.
 */
const WARM_READERS = 1_000
const READERS = 3_000

/** Kilobytes: of the system, and of them those in use by objects and buffers. */
interface Held {
  readonly anonymous: number
  readonly heap: number
}

/** Memory that is held once it changes by less than 1 % within a second; after ten seconds as it is. */
const held = async (target: BenchTarget): Promise<Held> => {
  let before = Number.POSITIVE_INFINITY
  for (let second = 0; second < 10; second++) {
    target.collectGarbage()
    await pause(1_000)
    const now = target.memory().anonymous
    if (Math.abs(now - before) < now / 100) break
    before = now
  }
  return { anonymous: target.memory().anonymous, heap: target.heap() }
}

const per = (count: number, before: Held, after: Held): Held => ({
  anonymous: (after.anonymous - before.anonymous) / count,
  heap: (after.heap - before.heap) / count
})

/** Starts that many runs, four at a time, and waits until each has said that it runs. */
const startRuns = async (target: BenchTarget, count: number): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  const running = new Set<string>()
  let notify: () => void = () => undefined
  const reader = await Subscriber.open(target, {
    onEvent: (runId, type) => {
      if (type === "run.started") running.add(runId)
      notify()
    }
  })
  const starter = async (share: number) => {
    for (let i = 0; i < share; i++) {
      const id = await createBenchRun(target, "/wait")
      ids.push(id)
      while (!running.has(id)) {
        await new Promise<void>((resolve) => {
          const earlier = notify
          notify = () => {
            earlier()
            resolve()
          }
        })
      }
    }
  }
  await Promise.all(Array.from({ length: 4 }, () => starter(count / 4)))
  reader.drop()
  return ids
}

const openReaders = (target: BenchTarget, runId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => Subscriber.open(target, { runId })))

/** V8 returns what only the start needed by then. */
const REST_MS = 20_000

const measure = async (target: BenchTarget) => {
  await pause(REST_MS)
  const idle = target.memory().resident / 1_024
  await startRuns(target, WARM_RUNS)
  const withoutRuns = await held(target)
  const [first = ""] = await startRuns(target, RUNS)
  const withRuns = await held(target)
  await openReaders(target, first, WARM_READERS)
  const withoutReaders = await held(target)
  await openReaders(target, first, READERS)
  const withReaders = await held(target)
  return { idle, run: per(RUNS, withoutRuns, withRuns), reader: per(READERS, withoutReaders, withReaders) }
}

type Measured = Awaited<ReturnType<typeof measure>>

/** Each round wants fresh servers: what was counted is held until they end. */
const ROUNDS_AGAINST = 3

export const measureMemory = async (options: EdgeBenchOptions, report: Report): Promise<void> => {
  const rounds = options.against === undefined ? 1 : ROUNDS_AGAINST
  const taken: Record<BenchSide, Array<Measured>> = {
    floor: [],
    edge: [],
    previous: [],
    volatile: []
  }
  for (let round = 0; round < rounds; round++)
    await withPair({ ...options, collectable: true }, async (pair) => {
      for (const side of sidesOf(options)) taken[side].push(await measure(on(pair, side)))
    })
  const { edge, floor, previous } = taken
  const sides = options.against === undefined ? { edge, floor } : { edge, floor, previous }
  const figure = (name: string, unit: string, of: (measured: Measured) => number, limit?: number) =>
    report.add({
      figure: name,
      unit,
      ...compared(sides, of),
      ...(limit === undefined ? {} : { goal: atMost(limit) }),
      rounds
    })
  figure("memory of an idle server (resident)", "MB", ({ idle }) => idle, 85)
  figure(`memory per idle run, of ${RUNS}`, "KB", ({ run }) => run.anonymous, 60)
  figure(`memory per idle reader, of ${READERS} more`, "KB", ({ reader }) => reader.anonymous, 15)
  if (options.against === undefined) return
  figure("objects and buffers per idle run", "KB", ({ run }) => run.heap)
  figure("objects and buffers per idle reader", "KB", ({ reader }) => reader.heap)
}
