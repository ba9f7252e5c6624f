/**
 * Time of another machine's clock, estimated from its answers: what it said, plus the monotonic time since. Also the difference between two clocks
 * that should be equal, as a problem in health and as a metric.
 *
 * Guarantees: independent of this machine's clock, also of one that is set meanwhile. A sample is as exact as half of its round trip; a slow one
 * replaces a better one only if the two contradict each other.
 */
import type { HealthProblem } from "@corral/domain/http/Health"

/** A sample that takes no longer is always used, so that the estimate follows a clock that drifts. */
const QUICK_MS = 20

/** `sentAt` and `receivedAt` are monotonic times of this machine, `remote` is the Unix time that the other one said in between. */
export interface ClockSample {
  readonly sentAt: number
  readonly receivedAt: number
  readonly remote: number
}

export class ClockOffset {
  /** Unix time of the other machine at the monotonic time 0. */
  private offset: number | undefined

  note({ receivedAt, remote, sentAt }: ClockSample): void {
    const uncertainty = (receivedAt - sentAt) / 2
    const offset = remote - (sentAt + receivedAt) / 2
    const agrees = this.offset !== undefined && Math.abs(offset - this.offset) <= uncertainty
    if (!agrees || uncertainty * 2 <= QUICK_MS) this.offset = offset
  }

  /** The other machine's time at that monotonic time; `undefined` before the first sample. */
  at(monotonic: number): number | undefined {
    return this.offset === undefined ? undefined : this.offset + monotonic
  }
}

/** Times of services are compared in seconds. A difference beyond this misleads people, and means that a clock is not synchronized. */
const MAX_SKEW_MS = 2_000

/** `skewMs`: this machine's clock minus the other one. */
export const clockSkewProblem = (
  skewMs: number | undefined,
  other: string,
  hint: string
): ReadonlyArray<HealthProblem> =>
  skewMs === undefined || Math.abs(skewMs) <= MAX_SKEW_MS
    ? []
    : [
        {
          part: "clock",
          message: `This machine's clock is ${(Math.abs(skewMs) / 1_000).toFixed(1)} s ${skewMs > 0 ? "ahead of" : "behind"} that of ${other}.`,
          hint
        }
      ]

/** The row of a service's metrics. */
export const clockSkewMetric = (other: string) =>
  ({
    name: "clock_skew_seconds",
    kind: "gauge",
    what: `This machine's clock minus that of ${other}.`
  }) as const
