/**
 * Request rate of an Edge: one token bucket for the holder of the token, another for all other callers, so that a program without the token
 * cannot use up the holder's requests.
 *
 * All callers come from loopback: addresses do not distinguish them. Counts requests and upgrades, not what an upgraded socket sends.
 */
import { RequestRateLimit as Buckets } from "@corral/service/http/RequestRateLimit"

export class RateLimit {
  private readonly buckets: Buckets

  /** `now` in milliseconds. Allows all requests of a second together. */
  constructor(perSecond: number, now: () => number) {
    this.buckets = new Buckets(perSecond, now)
  }

  /** Whether one more request may be served; if so it is counted. */
  take(holdsToken: boolean): boolean {
    return this.buckets.take(holdsToken ? "holder" : "others")
  }
}
