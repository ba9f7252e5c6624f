/**
 * The floor, this build, and where they are wanted an earlier build and the floor without durability. All run together and are measured in turns, so other load of the machine
 * affects each of them. `edge` is what is measured, also when that is a Hub, a Gateway or an adapter.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { BenchSide, BuildOptions } from "./Builds.ts"
import type { Figure } from "./Report.ts"
import { median, ratioInterval } from "./Statistics.ts"
import { type Home, makeHome, removeHome, BenchTarget, type TargetOptions } from "./Target.ts"

export type Both<A> = Readonly<Record<"floor" | "edge", A>>
export type Sides<A> = Both<A> & { readonly previous?: A; readonly volatile?: A }

type SideOptions = Pick<BuildOptions, "against" | "hasVolatile">
export type Pair = Sides<BenchTarget>

export const sidesOf = ({ against, hasVolatile }: SideOptions): ReadonlyArray<BenchSide> => [
  "floor",
  "edge",
  ...(against === undefined ? [] : (["previous"] as const)),
  ...(hasVolatile === true ? (["volatile"] as const) : [])
]

/** The same for each side; `of` is called for one after the other. */
export const eachSide = async <A>(
  options: SideOptions,
  of: (side: BenchSide) => A | Promise<A>
): Promise<Sides<A>> => {
  const [floor, edge] = [await of("floor"), await of("edge")]
  const { against, hasVolatile } = options
  return {
    floor,
    edge,
    ...(against === undefined ? {} : { previous: await of("previous") }),
    ...(hasVolatile === true ? { volatile: await of("volatile") } : {})
  }
}

/** What belongs to a side. */
export const on = <A>(sides: Sides<A>, side: BenchSide): A => {
  const found = sides[side]
  if (found === undefined) throw new Error(`the ${side} is not measured`)
  return found
}

/** A server that uses less of a processor than this part of the time does nothing. */
const AT_REST = 0.02
const LOOK_MS = 25
const MAX_LOOKS = 80

/** Waits until no server works. What a server does after the end of a run is part of no other side's next run. */
export const untilAtRest = async (pair: Pair, sides: ReadonlyArray<BenchSide>): Promise<void> => {
  const used = () => sides.reduce((sum, side) => sum + on(pair, side).cpuMicros(), 0)
  for (let look = 0; look < MAX_LOOKS; look++) {
    const before = used()
    await pause(LOOK_MS)
    if (used() - before < AT_REST * LOOK_MS * 1_000) return
  }
}

/** Starts fresh servers for `body` and takes them down again. `startSide` starts another server on a side. */
export const withPair = async (
  options: TargetOptions,
  body: (pair: Pair) => Promise<void>,
  startSide: (side: BenchSide, home: Home) => Promise<BenchTarget> = (side, home) =>
    BenchTarget.start(side, home, options)
): Promise<void> => {
  const homes: Array<Home> = []
  const up: Array<BenchTarget> = []
  const start = async (side: BenchSide): Promise<BenchTarget> => {
    const home = makeHome()
    homes.push(home)
    const target = await startSide(side, home)
    up.push(target)
    return target
  }
  try {
    await body(await eachSide(options, start))
  } finally {
    await Promise.all(up.map((target) => target.stop()))
    homes.forEach(removeHome)
  }
}

/** Measures each side `rounds` times, one after the other, each going first in its turn. */
export const interleave = async <A>(
  rounds: number,
  measure: (side: BenchSide) => Promise<A>,
  sides: ReadonlyArray<BenchSide> = ["floor", "edge"]
): Promise<Sides<ReadonlyArray<A>>> => {
  const taken: Record<BenchSide, Array<A>> = { floor: [], edge: [], previous: [], volatile: [] }
  for (let round = 0; round < rounds; round++) {
    const first = round % sides.length
    for (const side of [...sides.slice(first), ...sides.slice(0, first)])
      taken[side].push(await measure(side))
  }
  const { edge, floor, previous, volatile } = taken
  return {
    edge,
    floor,
    ...(sides.includes("previous") ? { previous } : {}),
    ...(sides.includes("volatile") ? { volatile } : {})
  }
}

/**
 * The same on fresh servers, `servers` times: what each of the shapes took on each set. The same build differs from process to process by
 * more than from round to round, by what its compiler and its memory came to.
 */
export const onFreshServers = async <Shape, A>(
  options: TargetOptions & { readonly rounds: number; readonly servers: number },
  shapes: ReadonlyArray<Shape>,
  warmUp: (target: BenchTarget) => Promise<unknown>,
  measure: (target: BenchTarget, shape: Shape) => Promise<A>
): Promise<ReadonlyArray<readonly [Shape, ReadonlyArray<Sides<ReadonlyArray<A>>>]>> => {
  const taken = shapes.map((shape): [Shape, Array<Sides<ReadonlyArray<A>>>] => [shape, []])
  for (let set = 0; set < options.servers; set++)
    await withPair(options, async (pair) => {
      await interleave(1, (side) => warmUp(on(pair, side)), sidesOf(options))
      for (const [shape, sets] of taken)
        sets.push(
          await interleave(options.rounds, (side) => measure(on(pair, side), shape), sidesOf(options))
        )
    })
  return taken
}

/** Events that this build lost, over all sets. */
export const lostOf = (sets: ReadonlyArray<Sides<ReadonlyArray<{ readonly lost: number }>>>): number =>
  sets.reduce((sum, { edge }) => sum + edge.reduce((lost, each) => lost + each.lost, 0), 0)

type Comparison = Pick<Figure, "edge" | "floor" | "previous" | "change" | "volatile">

/** One figure of what was taken: medians, and how much it changed since the earlier build. */
export const compared = <A>(taken: Sides<ReadonlyArray<A>>, of: (measured: A) => number): Comparison => {
  const [edge, floor, previous] = [taken.edge.map(of), taken.floor.map(of), taken.previous?.map(of)]
  const { volatile } = taken
  const medians = {
    edge: median(edge),
    floor: median(floor),
    ...(volatile === undefined ? {} : { volatile: median(volatile.map(of)) })
  }
  return previous === undefined
    ? medians
    : { ...medians, previous: median(previous), change: ratioInterval(edge, previous) }
}

/** The same of several sets of servers: medians of their medians, and the interval between sets. One set is compared by its rounds. */
export const comparedSets = <A>(
  sets: ReadonlyArray<Sides<ReadonlyArray<A>>>,
  of: (measured: A) => number
): Comparison => {
  const [first, ...others] = sets
  if (first !== undefined && others.length === 0) return compared(first, of)
  const medians = (side: BenchSide): ReadonlyArray<number> => sets.map((set) => median(on(set, side).map(of)))
  const both = { edge: medians("edge"), floor: medians("floor") }
  const optional = {
    ...(first?.previous === undefined ? {} : { previous: medians("previous") }),
    ...(first?.volatile === undefined ? {} : { volatile: medians("volatile") })
  }
  return compared({ ...both, ...optional }, (value) => value)
}
