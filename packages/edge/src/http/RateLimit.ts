/**
 * How many requests an Edge takes in a second: one token bucket for whoever holds the token, another for everybody else, so that a program
 * without the token cannot use up what its holder has.
 *
 * All callers come from loopback: an address tells nobody apart here. It counts requests and upgrades, not what goes on after them.
 */
import { RequestRateLimit as Buckets } from "@corral/service/http/RequestRateLimit"

export class RateLimit {
  private readonly buckets: Buckets

  /** `now` in milliseconds. A second's worth may come at once. */
  constructor(perSecond: number, now: () => number) {
    this.buckets = new Buckets(perSecond, now)
  }

  /** Whether one more request may be served; if so it is counted. */
  take(holdsToken: boolean): boolean {
    return this.buckets.take(holdsToken ? "holder" : "others")
  }
}
