/** Medians and quantiles of small samples. */

/** The value below which `share` (0 to 1) of the sample lies; nearest rank. NaN for an empty sample. */
export const quantile = (sample: ReadonlyArray<number>, share: number): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

export const median = (sample: ReadonlyArray<number>): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const [low, high] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2
}
