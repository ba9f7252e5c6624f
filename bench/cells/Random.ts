/** Random numbers that are the same for the same seed. */
import { randomNumbers } from "@corral/conformance/Replay"

export interface Random {
  /** A whole number below `limit`. */
  readonly below: (limit: number) => number
  /** Above 0 and below 1. */
  readonly share: () => number
  /** Time until the next of independent events that happen `rate` times in a unit of time. */
  readonly pause: (rate: number) => number
  /** A factor with the median 1, whose logarithm has the standard deviation `spread`. */
  readonly factor: (spread: number) => number
}

const STEPS = 2 ** 30

export const randomOf = (seed: number): Random => {
  const below = randomNumbers(seed)
  const share = (): number => (below(STEPS) + 0.5) / STEPS
  const normal = (): number => Math.sqrt(-2 * Math.log(share())) * Math.cos(2 * Math.PI * share())
  return {
    below,
    share,
    pause: (rate) => -Math.log(share()) / rate,
    factor: (spread) => Math.exp(spread * normal())
  }
}
