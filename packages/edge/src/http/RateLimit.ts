/**
 * How many requests an Edge takes in a second: one token bucket for whoever holds the token, another for everybody else, so that a program
 * without the token cannot use up what its holder has.
 *
 * All callers come from loopback: an address tells nobody apart here. It counts requests and upgrades, not what goes on after them.
 */
export class RateLimit {
  private readonly perSecond: number
  private readonly now: () => number
  private readonly holder: Bucket
  private readonly stranger: Bucket

  /** `now` in milliseconds. A second's worth may come at once. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond
    this.now = now
    this.holder = { left: perSecond, at: now() }
    this.stranger = { left: perSecond, at: now() }
  }

  /** Whether one more request may be served; if so it is counted. */
  take(holdsToken: boolean): boolean {
    const bucket = holdsToken ? this.holder : this.stranger
    const now = this.now()
    // A clock that was set back gives nothing and takes nothing.
    const refill = (Math.max(0, now - bucket.at) * this.perSecond) / 1_000
    bucket.left = Math.min(this.perSecond, bucket.left + refill)
    bucket.at = now
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }
}

interface Bucket {
  left: number
  at: number
}
