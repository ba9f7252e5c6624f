/**
 * Rate limit: one token bucket for each credential, and one for each address without a credential.
 *
 * Full buckets are deleted, so memory depends on recent clients only. Does not: share counts between processes.
 */
export class RequestRateLimit {
  private readonly limit: number
  private readonly windowMs: number
  private readonly now: () => number
  private readonly buckets = new Map<string, Bucket>()
  private sweptAt: number

  /** Allows `limit` requests per `windowMs`, also all at once. `now` returns milliseconds. */
  constructor(limit: number, now: () => number, windowMs = 1_000) {
    this.limit = limit
    this.windowMs = windowMs
    this.now = now
    this.sweptAt = now()
  }

  /** Counts a request of `who` and returns true, or returns false beyond the limit. */
  take(who: string): boolean {
    const bucket = this.filled(who)
    this.buckets.set(who, bucket)
    if (bucket.left < 1) return false
    bucket.left--
    return true
  }

  /** Whether `take` would return true. */
  has(who: string): boolean {
    return this.filled(who).left >= 1
  }

  private filled(who: string): Bucket {
    const now = this.now()
    this.sweep(now)
    const { at, left } = this.buckets.get(who) ?? { left: this.limit, at: now }
    // A clock that was set back changes nothing.
    const refill = (Math.max(0, now - at) * this.limit) / this.windowMs
    return { left: Math.min(this.limit, left + refill), at: now }
  }

  /** Deletes the buckets of clients without a request in a whole window: they are full. */
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
