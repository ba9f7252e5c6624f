/** Difference between two clocks that should be equal, as a problem in health and as a metric. */
import type { HealthProblem } from "@corral/domain/http/Health"

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
