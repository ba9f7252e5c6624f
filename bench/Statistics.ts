/** Medians and quantiles of small samples. */

/** The value below which `share` (0 to 1) of the sample lies; nearest rank. NaN for an empty sample. */
export const quantile = (sample: ReadonlyArray<number>, share: number): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

/** The middle of a sample, and between what 95 % of the middles of samples like it are. */
export interface Interval {
  readonly median: number
  readonly low: number
  readonly high: number
}

const RESAMPLES = 2_000

/**
 * The median of the ratios `after / before`, pair by pair, with its bootstrap interval. Both were measured in turns, so that what the
 * machine did meanwhile met both of a pair. The same samples give the same interval.
 */
export const ratioInterval = (after: ReadonlyArray<number>, before: ReadonlyArray<number>): Interval => {
  const ratios = after.map((value, i) => value / (before[i] ?? Number.NaN))
  let state = 1
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(ratios.map(() => ratios[below(ratios.length)] ?? Number.NaN))
  )
  return { median: median(ratios), low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

export const median = (sample: ReadonlyArray<number>): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
