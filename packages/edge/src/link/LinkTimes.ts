/** Times of the link, in milliseconds. */
export interface LinkTimes {
  /** Ping interval, and the silence after which the link counts as broken. */
  readonly ping: number
  readonly silence: number
  /** Maximum delay before a reconnection: after the first failure, and after many. */
  readonly minDelay: number
  readonly maxDelay: number
  /** Minimum delay before a reconnection after another Edge connected as the device. Up to a third is added. */
  readonly fenced: number
  /** Interval between checks of the device file. */
  readonly look: number
  /** Time for the acknowledgement of a push. A Hub whose database does not answer in time ends the link sooner than this. */
  readonly acknowledge: number
  /** Time for a stopping Edge to push remaining events. */
  readonly goodbye: number
}

export const defaultTimes: LinkTimes = {
  ping: 5_000,
  silence: 10_000,
  minDelay: 200,
  maxDelay: 10_000,
  fenced: 30_000,
  look: 1_000,
  acknowledge: 90_000,
  goodbye: 1_500
}
