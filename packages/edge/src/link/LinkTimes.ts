/** How patient the link is, in milliseconds. */
export interface LinkTimes {
  /** How often the Hub is pinged, and after how much silence the link counts as broken. */
  readonly ping: number
  readonly silence: number
  /** Before it is dialled again, at most: at first, and after many failures. */
  readonly minDelay: number
  readonly maxDelay: number
  /** Before it is dialled again where another Edge has taken the link over: at least, and up to a third more. */
  readonly fenced: number
  /** How often the device file is looked at. */
  readonly look: number
  /** How long a stopping Edge tries to push what is left. */
  readonly goodbye: number
}

export const defaultTimes: LinkTimes = {
  ping: 5_000,
  silence: 10_000,
  minDelay: 200,
  maxDelay: 10_000,
  fenced: 30_000,
  look: 1_000,
  goodbye: 1_500
}
