/** The floor and the Edge side by side: both up at once, measured in turns, so that whatever else the machine does meets both. */
import { makeHome, removeHome, type Side, Target, type TargetOptions } from "./Target.ts"

export type Both<A> = Readonly<Record<Side, A>>
export type Pair = Both<Target>

/** Starts a fresh pair for `body` and takes it down again. */
export const withPair = async (
  options: TargetOptions,
  body: (pair: Pair) => Promise<void>
): Promise<void> => {
  const homes = { floor: makeHome(), edge: makeHome() }
  const up: Array<Target> = []
  const start = async (side: Side): Promise<Target> => {
    const target = await Target.start(side, homes[side], options)
    up.push(target)
    return target
  }
  try {
    await body({ floor: await start("floor"), edge: await start("edge") })
  } finally {
    await Promise.all(up.map((target) => target.stop()))
    removeHome(homes.floor)
    removeHome(homes.edge)
  }
}

/** Measures both `rounds` times, one after the other, each going first in every other round. */
export const interleave = async <A>(
  rounds: number,
  measure: (side: Side) => Promise<A>
): Promise<Both<ReadonlyArray<A>>> => {
  const taken: Both<Array<A>> = { floor: [], edge: [] }
  const order: ReadonlyArray<Side> = ["floor", "edge"]
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 === 0 ? order : order.toReversed()) taken[side].push(await measure(side))
  }
  return taken
}
