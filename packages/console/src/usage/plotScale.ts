/** Scale of a plot: round values for its axis, and the places with a label. Pure. */

const STEPS = 4
const factors = [1, 2, 2.5, 5, 10]

/**
 * Values of the axis from 0 to at least `most`, at most five, with equal distances of 1, 2, 2.5 or 5 times a power of ten. `isWhole`: the distance
 * is a whole number.
 */
export const axisTicks = (most: number, isWhole: boolean): ReadonlyArray<number> => {
  if (!(most > 0)) return isWhole ? [0, 1] : [0, 0.01]
  const power = 10 ** Math.floor(Math.log10(most / STEPS))
  const isUsable = (step: number): boolean => step * STEPS >= most && (!isWhole || Number.isInteger(step))
  const step = factors.map((factor) => factor * power).find(isUsable) ?? Math.ceil(most / STEPS)
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  // Without the last digits of products, which are noise.
  return Array.from({ length: count + 1 }, (_, at) => Number((at * step).toPrecision(12)))
}

/** Places of `count` columns that have a label: the last one, and others at equal distances before it, at least `space` apart. */
export const labelledPlaces = (count: number, width: number, space: number): ReadonlySet<number> => {
  if (count === 0) return new Set()
  const every = Math.max(1, Math.ceil((space * count) / Math.max(1, width)))
  return new Set(Array.from({ length: Math.ceil(count / every) }, (_, at) => count - 1 - at * every))
}
