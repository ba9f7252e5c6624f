/**
 * Sweep of all processes of a run or of an Edge: their control groups first, then the process group and what a search finds by their marks, until a
 * search finds none.
 *
 * Guarantees: an end without survivors costs one search. Processes that cannot leave their groups need none: the kernel proves a group empty.
 * Without /proc, a sweep by marks reaches the process group only.
 * Does not: search. Its driver does, which decides on which thread.
 */

import { emptyGroup, removeGroup } from "./ControlGroup.ts"
import { type MarkedProcesses, processStartTime, readProc, search, type SweepSteps } from "./MarkSearch.ts"

/** Variables of the environment by which the processes of a run and of an Edge are found. */
export const RUN_MARK = "CORRAL_RUN_ID"
export const EDGE_MARK = "CORRAL_EDGE_ID"

/** Returns whether there was a process. */
const signalOne = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    // The process ended before the signal.
    return false
  }
}

/** Signals the whole process group that `leader` leads. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => void signalOne(-leader, signal)

/**
 * Signals a confined runtime: the groups of the children of `leader`, which is what confines it. Signals the group of `leader` if it has no
 * such child yet, or if the kernel does not name it.
 */
export const signalConfined = (leader: number, signal: NodeJS.Signals): void => {
  const children = (readProc(`/proc/${leader}/task/${leader}/children`) ?? "").split(" ").map(Number)
  const isSignalled = children.filter((pid) => pid > 0).map((pid) => signalOne(-pid, signal))
  if (!isSignalled.includes(true)) signalGroup(leader, signal)
}

const SWEEP_PAUSE_MS = 2
const SWEEP_LIMIT = 1_000
/** Number of searches without a result after which uncertain ones count too, because a busy machine is never quiet. */
const EMPTY_LIMIT = { beforeKilling: 4, afterKilling: 12 }

/** Whether the number of the leader is still that of the leader, or of no process. A group whose leader has ended keeps the number. */
const isLeaders = ({ leader, since = 0 }: MarkedProcesses): boolean => {
  const startedAt = processStartTime(leader)
  return startedAt === 0 || since === 0 || startedAt === since
}

/**
 * Kills until no process is found. A process that forks or changes its program during a search can be missed, so an empty search counts only
 * if nothing changed during it. After a kill, two are needed. Returns the number of searches that found a process. Stops after `SWEEP_LIMIT`
 * searches, with a failure.
 */
export function* sweepMarked(target: MarkedProcesses): SweepSteps {
  const { leader, mark } = target
  const endGroup = () => {
    if (leader !== undefined && isLeaders(target)) signalGroup(leader, "SIGKILL")
  }
  let clean = 0
  let empty = 0
  let killing = 0
  for (let look = 0; look < SWEEP_LIMIT; look++) {
    const { pids, certain } = yield* search(target)
    if (pids.length === 0) {
      // Ends processes that only the group connects; harmless if the group is empty.
      if (look === 0) endGroup()
      empty++
      clean = certain ? clean + 1 : 0
      const limit = killing === 0 ? EMPTY_LIMIT.beforeKilling : EMPTY_LIMIT.afterKilling
      if (clean === (killing === 0 ? 1 : 2) || empty >= limit) return killing
    } else {
      clean = 0
      empty = 0
      killing++
      // Stopped first, so that none of them forks while others are killed.
      for (const pid of pids) signalOne(pid, "SIGSTOP")
      for (const pid of pids) signalOne(pid, "SIGKILL")
      endGroup()
    }
    yield { _tag: "Pause", millis: SWEEP_PAUSE_MS }
  }
  yield {
    _tag: "Failure",
    message: "failed to kill marked processes",
    details: { mark, searches: SWEEP_LIMIT }
  }
  return killing
}

/** All processes of a run or of an Edge. */
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
