/**
 * Costs of one cell that the simulation starts from. One Hub, its PostgreSQL and the simulated devices shared two cores for all of them
 * (`npm run bench -- link`, `docs/scaling.md`; failures: `npm run test:failover`, `docs/high-availability.md`). Milliseconds unless a name says otherwise.
 */
export const measured = {
  /** Links that push one event each, wait for the acknowledgement and push the next. */
  smallPushes: { links: 200, perSecond: 9_480, p50: 20.1, p99: 41 },
  /** A device that connects, of the whole machine. */
  connect: 1.9,
  /** A processor's time for a connected device, each second, in milliseconds: 13 µs of 10,000. */
  idle: 0.0133,
  /** A processor's time for a push of one event, of Hub and PostgreSQL. */
  push: 0.13,
  /** A primary that fails, until a Hub accepts writes: the slowest of 20. */
  failover: 14_100
} as const

/**
 * How long a transaction takes. Fitted, not measured: `fixed` is a commit of an idle server with its round trips; `perPush` and `spread` (of the
 * logarithm) give the rate and the quantiles of `smallPushes`. The program prints both, so that a reader sees how well they fit.
 */
export const transaction = { fixed: 1.2, perPush: 0.094, perFurtherEvent: 0.01, spread: 0.31 } as const
