/**
 * Events of a run at a Hub until an editor has them, over the Agent Host Protocol, beside the console's stream of the same run: the column of the floor is the console.
 *
 * Each is measured alone, in turns, with the processor time of the Hub; then both on the same runs.
 */
import { type BenchSide, isFloor } from "../Builds.ts"
import { compared, interleave, type Sides } from "../Pair.ts"
import { cpuMicrosOf } from "../ProcessFigures.ts"
import { atMostTimesFloor, type Report } from "../Report.ts"
import { quantile } from "../Statistics.ts"
import { agent } from "./FirstEvent.ts"
import { type LinkBenchOptions, type LinkPair, withLinkPair } from "./LinkPair.ts"
import { Arrivals, EditorReader, readAsConsole, type RunReader } from "./RunReaders.ts"
import { joinedToProject, until } from "./Trip.ts"

const SECONDS = 5
/** Clients of each kind, and events a second. */
const SHAPES = [
  { clients: 1, rate: 100 },
  { clients: 1, rate: 1_000 },
  { clients: 10, rate: 100 }
] as const
type Shape = (typeof SHAPES)[number]

/** Kinds of clients that follow a run, in the order in which they subscribe. */
type Kinds = ReadonlyArray<BenchSide>

interface Measured {
  readonly latencies: ReadonlyArray<number>
  /** Texts that did not arrive, or arrived again. */
  readonly lost: number
  /** Microseconds of the Hub per event, from the first arrival to the last one. */
  readonly cpu: number
}

interface Named {
  readonly id: string
}

interface SentMessage {
  readonly delivery?: { readonly runId?: string }
}

/** A new session with an agent, and how to begin its run. */
const openSession = async ({ projectId, signedInCall }: LinkPair, targetId: string) => {
  const { id } = await signedInCall<Named>("POST", "/client/sessions", { projectId, title: "Editors" })
  const messages = `/client/sessions/${id}/messages`
  await signedInCall("POST", `/client/sessions/${id}/agents`, { targetId, ...agent })
  return {
    id,
    begin: async (text: string): Promise<string> => {
      const message = await signedInCall<Named>("POST", messages, { text, onOffline: "queue" })
      const path = `${messages}/${message.id}`
      return until(async () => (await signedInCall<SentMessage>("GET", path)).delivery?.runId)
    }
  }
}

/** Processor time of the Hub from the first of `events` arrivals to the last one. */
const cpuBetween = (pid: number, events: number) => {
  let count = 0
  let first = 0
  let last = Number.NaN
  return {
    onText: (): void => {
      count++
      if (count === 1) first = cpuMicrosOf(pid)
      if (count === events) last = cpuMicrosOf(pid)
    },
    micros: (): number => last - first
  }
}

/** Follows one run with as many clients of each side. */
const followRun = async (
  pair: LinkPair,
  targetId: string,
  { clients, rate }: Shape,
  kinds: Kinds
): Promise<ReadonlyMap<BenchSide, Measured>> => {
  const events = rate * SECONDS
  const session = await openSession(pair, targetId)
  const sides = kinds.map((side) => {
    const cpu = cpuBetween(pair.hub.pid, events * clients)
    return { side, cpu, each: Array.from({ length: clients }, () => new Arrivals(cpu.onText)) }
  })
  const readers: Array<RunReader> = []
  for (const { each, side } of sides)
    for (const [at, arrivals] of isFloor(side) ? [] : each.entries()) {
      // The same windows each time: those that leave would be held for a while.
      const editor = await EditorReader.open(pair, `bench-${at}`, { targetId, workspace: "bench" })
      readers.push(await editor.follow(session.id, arrivals))
    }
  const runId = await session.begin(`/sleep 500\n/stream ${events} ${rate} 100`)
  for (const { each, side } of sides)
    for (const arrivals of isFloor(side) ? each : []) readers.push(await readAsConsole(pair, runId, arrivals))
  await Promise.all(readers.map(({ ended }) => ended))
  readers.forEach(({ close }) => close())
  return new Map(
    sides.map(({ cpu, each, side }) => {
      const latencies = each.flatMap((arrivals) => arrivals.latencies)
      const repeated = each.reduce((sum, arrivals) => sum + arrivals.repeated, 0)
      const lost = events * clients - latencies.length + repeated
      return [side, { latencies, lost, cpu: cpu.micros() / events }]
    })
  )
}

const measuredOf = (measured: ReadonlyMap<BenchSide, Measured>, side: BenchSide): Measured => {
  const found = measured.get(side)
  if (found === undefined) throw new Error(`the ${side} is not measured`)
  return found
}

/** Both on the same runs, in turns the first to subscribe. */
const onSameRuns = async (
  follow: (kinds: Kinds) => Promise<ReadonlyMap<BenchSide, Measured>>,
  rounds: number
): Promise<Sides<ReadonlyArray<Measured>>> => {
  const taken: Record<"edge" | "floor", Array<Measured>> = { edge: [], floor: [] }
  for (let round = 0; round < rounds; round++) {
    const measured = await follow(round % 2 === 0 ? ["edge", "floor"] : ["floor", "edge"])
    taken.edge.push(measuredOf(measured, "edge"))
    taken.floor.push(measuredOf(measured, "floor"))
  }
  return taken
}

export const measureEditors = (options: LinkBenchOptions, report: Report): Promise<void> =>
  withLinkPair(options, async (pair) => {
    const { rounds } = options
    const targetId = await joinedToProject(pair, options, "edge")
    const add = (taken: Sides<ReadonlyArray<Measured>>, where: string) => {
      const lost = [...taken.edge, ...taken.floor].reduce((sum, each) => sum + each.lost, 0)
      for (const [name, at] of [
        ["p50", 0.5],
        ["p99", 0.99]
      ] as const)
        report.add({
          figure: `a program's write to ${where}, ${name}`,
          unit: "ms",
          ...compared(taken, ({ latencies }) => quantile(latencies, at)),
          goal: atMostTimesFloor(1.3),
          lost,
          rounds
        })
    }
    for (const shape of SHAPES) {
      const { clients, rate } = shape
      const follow = (kinds: Kinds) => followRun(pair, targetId, shape, kinds)
      const alone = async (side: BenchSide) => measuredOf(await follow([side]), side)
      const editors = clients === 1 ? "an editor" : `${clients} editors`
      await interleave(1, alone)
      const taken = await interleave(rounds, alone)
      add(taken, `${editors} at ${rate} events/s`)
      report.add({
        figure: `CPU of the Hub per event to ${editors} at ${rate} events/s`,
        unit: "µs",
        ...compared(taken, ({ cpu }) => cpu),
        rounds
      })
      const consoles = clients === 1 ? "the console" : `${clients} consoles`
      add(await onSameRuns(follow, rounds), `${editors} at ${rate} events/s, ${consoles} on the same run`)
    }
  })
