/** Amounts for people: a number of tokens, and a cost. */

/** `12,345` up to ten thousand, then `12k`. */
export const shortNumber = (n: number): string =>
  n < 10_000 ? n.toLocaleString("en") : `${Math.round(n / 1_000).toLocaleString("en")}k`

/** `$0.0421` below a dollar, then `$12.30`. */
export const formatCost = (usd: number): string => `$${usd.toFixed(usd < 1 ? 4 : 2)}`
