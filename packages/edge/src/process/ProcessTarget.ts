/**
 * All processes of a run or of an Edge, and the sweep that ends them: their control groups first, then their marks.
 *
 * Guarantees: an end without survivors costs one search. Processes that cannot leave their groups need none: the kernel proves a group empty.
 */
import { emptyGroup, removeGroup } from "./ControlGroup.ts"
import type { MarkedProcesses } from "./MarkSearch.ts"
import { sweepMarked } from "./MarkSweep.ts"
import type { SweepSteps } from "./SweepSteps.ts"

export interface ProcessTarget extends MarkedProcesses {
  readonly groups?: ReadonlyArray<string> | undefined
  /** Whether the processes cannot leave the groups, because they see no control groups: those of a run in its own process namespace. */
  readonly isEnclosed?: boolean | undefined
}

const ROUNDS = 5

/** Kills all processes of the target until none is found and its groups are removed. The first search is immediate. */
export function* sweepTarget(target: ProcessTarget): SweepSteps {
  const groups = target.groups ?? []
  const isProven = target.isEnclosed === true && groups.length > 0
  let looks = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (const group of groups) looks += yield* emptyGroup(group)
    if (!isProven) looks += yield* sweepMarked(target)
    // Last, because processes that were found by their marks may have entered the group again.
    if (groups.filter((group) => !removeGroup(group)).length === 0) return looks
  }
  yield { _tag: "Failure", message: "failed to remove control groups", details: { mark: target.mark } }
  return looks
}
