/** All processes of a run or of an Edge, and the sweep that ends them: their control groups first, then their marks. */
import { emptyGroup, removeGroup } from "./ControlGroup.ts"
import { type MarkedProcesses, sweepMarked } from "./MarkSweep.ts"
import type { SweepSteps } from "./SweepSteps.ts"

export interface ProcessTarget extends MarkedProcesses {
  readonly groups?: ReadonlyArray<string> | undefined
}

const ROUNDS = 5

/** Kills all processes of the target until none is found and its groups are removed. The first search is immediate. */
export function* sweepTarget(target: ProcessTarget): SweepSteps {
  const groups = target.groups ?? []
  let looks = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const group of groups) looks += yield* emptyGroup(group)
    looks += yield* sweepMarked(target)
    // Last, because processes that were found by their marks may have entered the group again.
    if (groups.filter((group) => !removeGroup(group)).length === 0) return looks
  }
  yield { _tag: "Failure", message: "failed to remove control groups", details: { mark: target.mark } }
  return looks
}
