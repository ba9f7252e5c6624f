/**
 * Steps of a sweep: pauses between searches, and what an operator has to look at.
 *
 * A sweep is a generator, so that the Edge runs it in a fiber (`runSweep`) and the holder, which has no Effect, on timers.
 */

export type SweepStep =
  | { readonly _tag: "Pause"; readonly millis: number }
  | {
      readonly _tag: "Failure"
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }

/** Returns the number of searches that found a process. */
export type SweepSteps = Generator<SweepStep, number, void>
