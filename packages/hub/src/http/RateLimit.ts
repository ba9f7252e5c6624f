/**
 * How many requests are taken in a second: a token bucket for each credential, and one for each address without any.
 *
 * A full bucket is forgotten: what is kept is who was here lately. It counts in one Hub; several Hubs count apart.
 */
export class RateLimit {
  private readonly perSecond: number
  private readonly now: () => number
  private readonly buckets = new Map<string, Bucket>()
  private sweptAt: number

  /** `now` in milliseconds. A second's worth may come at once. */
  constructor(perSecond: number, now: () => number) {
    this.perSecond = perSecond
    this.now = now
    this.sweptAt = now()
  }

  /** Whether one more request of `who` may be served; if so it is counted. */
  take(who: string): boolean {
    const now = this.now()
    this.sweep(now)
    const bucket = this.buckets.get(who) ?? { left: this.perSecond, at: now }
    // A clock that was set back gives nothing and takes nothing.
    const refill = (Math.max(0, now - bucket.at) * this.perSecond) / 1_000
    bucket.left = Math.min(this.perSecond, bucket.left + refill)
    bucket.at = now
    this.buckets.set(who, bucket)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }

  /** Once a second: whoever was not here for a second has a full bucket again. */
  private sweep(now: number): void {
    if (now - this.sweptAt < 1_000) return
    this.sweptAt = now
    for (const [who, { at }] of this.buckets) if (now - at >= 1_000) this.buckets.delete(who)
  }
}

interface Bucket {
  left: number
  at: number
}
