/** Costs and counts of usage as people read them: `$0.42`, `12,345`, `1.2M`. Pure. */

const grouped = (value: number, digits: number): string =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** Below this many dollars, cents say too little. */
const SMALL = 0.1
/** The smallest cost that four digits show. */
const LEAST = 0.00005

/** A cost in US dollars: `$1,204.50`, `$0.42`, and with four digits below ten cents, `$0.0042`. */
export const costText = (costUsd: number): string => {
  if (costUsd > 0 && costUsd < LEAST) return "<$0.0001"
  return `$${grouped(costUsd, costUsd !== 0 && Math.abs(costUsd) < SMALL ? 4 : 2)}`
}

const units = [
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"]
] as const

/** A count: `12,345` below a hundred thousand, then `123k`, `1.2M`. */
export const countText = (count: number): string => {
  if (count < 100_000) return Math.round(count).toLocaleString("en")
  // Rounding can lead to the next unit: 999,950 is 1M.
  const [size, unit] = units.find(([size]) => count >= size * 0.9995) ?? units[2]
  const scaled = count / size
  return `${scaled < 99.95 ? Number(scaled.toFixed(1)) : Math.round(scaled)}${unit}`
}
