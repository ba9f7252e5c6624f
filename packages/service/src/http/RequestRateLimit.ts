/**
 * How many requests are taken in a time: a token bucket for each credential, and one for each address without any.
 *
 * A full bucket is forgotten: what is kept is who was here lately. It counts in one process; several count apart.
 */
export class RequestRateLimit {
  private readonly limit: number
  private readonly windowMs: number
  private readonly now: () => number
  private readonly buckets = new Map<string, Bucket>()
  private sweptAt: number

  /** `limit` in each `windowMs`, which may come at once; `now` in milliseconds. */
  constructor(limit: number, now: () => number, windowMs = 1_000) {
    this.limit = limit
    this.windowMs = windowMs
    this.now = now
    this.sweptAt = now()
  }

  /** Whether one more request of `who` may be served; if so it is counted. */
  take(who: string): boolean {
    const bucket = this.filled(who)
    this.buckets.set(who, bucket)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }

  /** Whether `take` would be granted. */
  has(who: string): boolean {
    return this.filled(who).left >= 1
  }

  private filled(who: string): Bucket {
    const now = this.now()
    this.sweep(now)
    const { at, left } = this.buckets.get(who) ?? { left: this.limit, at: now }
    // A clock that was set back gives nothing and takes nothing.
    const refill = (Math.max(0, now - at) * this.limit) / this.windowMs
    return { left: Math.min(this.limit, left + refill), at: now }
  }

  /** A client without requests in a whole window has a full bucket again. */
  private sweep(now: number): void {
    if (now - this.sweptAt < this.windowMs) return
    this.sweptAt = now
    for (const [who, { at }] of this.buckets) if (now - at >= this.windowMs) this.buckets.delete(who)
  }
}

interface Bucket {
  left: number
  at: number
}
