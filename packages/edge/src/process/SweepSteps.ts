/**
 * Steps of a sweep: searches, pauses between them, and what an operator has to look at.
 *
 * A sweep is a generator, so that the Edge runs it in a fiber (`runSweep`) and the holder, which has no Effect, on timers. The driver answers a
 * search with what it found.
 */
import type { MarkedProcesses, Survivors } from "./MarkSearch.ts"

export type SweepStep =
  | { readonly _tag: "Search"; readonly target: MarkedProcesses }
  | { readonly _tag: "Pause"; readonly millis: number }
  | {
      readonly _tag: "Failure"
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
    }

/** Returns the number of searches that found a process. */
export type SweepSteps = Generator<SweepStep, number, Survivors | undefined>

/** One search, by the driver. */
export function* search(target: MarkedProcesses): Generator<SweepStep, Survivors, Survivors | undefined> {
  // A search without an answer has proven nothing.
  return (yield { _tag: "Search", target }) ?? { pids: [], certain: false }
}
