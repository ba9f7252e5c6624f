/**
 * Sweep of a run's processes by their marks. Every process of a run has two marks in its environment: the run's id and the Edge's.
 *
 * Guarantees: a sweep signals the process group, then every process in its session, with its mark, or descended from one of these. It repeats
 * until it finds none. Without /proc, it reaches the process group only.
 * Does not: find a process that leaves the session, clears its environment and loses its parent.
 */
import { existsSync, readdirSync } from "node:fs"
import { readProc } from "./ProcFile.ts"
import type { SweepSteps } from "./SweepSteps.ts"

export const RUN_MARK = "CORRAL_RUN_ID"
export const EDGE_MARK = "CORRAL_EDGE_ID"

/** Whether /proc can be read. Without it, only the process group of a run is known. */
export const hasProc = existsSync("/proc/self/environ")

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
  readonly zombie: boolean
  /** A kernel thread, which has no environment. */
  readonly kernel: boolean
  /** Clock ticks since boot. */
  readonly startedAt: number
}

/** `pid (name) state ppid pgrp session …`. The name may contain anything, so the fields are read after its last parenthesis. */
const parseStat = (pid: number, stat: string): ProcessRow => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 20)
  const [state, parent, , session] = fields
  const zombie = state === "Z" || state === "X"
  return {
    pid,
    parent: Number(parent),
    session: Number(session),
    zombie,
    kernel: pid === 2 || parent === "2",
    startedAt: Number(fields[19])
  }
}

const listed = (): ReadonlyArray<string> => readdirSync("/proc").filter((name) => name >= "0" && name < ":")

const carries = (environ: string, mark: string): boolean =>
  environ.startsWith(`${mark}\0`) || environ.includes(`\0${mark}\0`)

interface Survivors {
  readonly pids: ReadonlyArray<number>
  /** Whether none was missed: each process that started during the search was examined, too. */
  readonly certain: boolean
}

/** Start time of a process, for `survivors`; 0, which excludes nothing, if it is unknown. */
export const processStartTime = (pid: number | undefined): number => {
  const stat = pid === undefined || !hasProc ? undefined : readProc(`/proc/${pid}/stat`)
  return stat === undefined || pid === undefined ? 0 : parseStat(pid, stat).startedAt
}

/** Target of a search. Processes that started before `since` are not examined. */
export interface MarkedProcesses {
  /** The mark: `NAME=value` in the environment. */
  readonly mark: string
  /** Processes with one of these marks are left alone. */
  readonly except?: ReadonlyArray<string> | undefined
  /** Leader of the session. */
  readonly leader?: number | undefined
  readonly since?: number | undefined
}

/** Environment of a process that cannot carry the mark. */
const NONE = "\0"

/** Listings of one search. A busy machine starts processes all the time; few of them end before they are examined. */
const MAX_LISTINGS = 8

/**
 * Examines each process once. A process that ends before it is examined may have started another, which is in the next listing. So is a
 * process whose id is lower than that of its parent, where ids have started again from the lowest: at least two listings are needed.
 */
const examineAll = ({ except = [], mark, leader, since = 0 }: MarkedProcesses) => {
  const examined = new Set([String(process.pid)])
  const rows: Array<ProcessRow> = []
  const found = new Set<number>()
  /** Whether a process may have been missed. */
  const examine = (name: string): boolean => {
    const stat = readProc(`/proc/${name}/stat`)
    const row = stat === undefined ? undefined : parseStat(Number(name), stat)
    if (row === undefined || row.zombie) {
      examined.add(name)
      return true
    }
    rows.push(row)
    if (row.session === leader) found.add(row.pid)
    const environ = row.kernel || row.startedAt < since ? NONE : readProc(`/proc/${name}/environ`)
    // Empty during an exec: examined again. Unreadable after its end, or for another user's process.
    if (environ !== "") examined.add(name)
    if (environ !== undefined && carries(environ, mark) && !except.some((other) => carries(environ, other)))
      found.add(row.pid)
    return environ === "" || environ === undefined
  }
  let certain = false
  for (let listing = 0; listing < MAX_LISTINGS && !certain; listing++) {
    const missed = listed()
      .filter((name) => !examined.has(name))
      .map(examine)
    certain = listing > 0 && !missed.includes(true)
  }
  return { certain, found, rows }
}

/** Living processes with the mark, in the leader's session, or descended from one of these. */
export const findSurvivors = (target: MarkedProcesses): Survivors => {
  if (!hasProc) return { pids: [], certain: true }
  const { certain, found, rows } = examineAll(target)
  for (let grown = true; grown;) {
    grown = false
    for (const row of rows) {
      if (!found.has(row.pid) && found.has(row.parent)) {
        found.add(row.pid)
        grown = true
      }
    }
  }
  return { pids: [...found], certain }
}

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

/**
 * Kills until no process is found. A process that forks or changes its program during a search can be missed, so an empty search counts only
 * if nothing changed during it. After a kill, two are needed. Returns the number of searches that found a process. Stops after `SWEEP_LIMIT`
 * searches, with a failure.
 */
export function* sweepMarked(target: MarkedProcesses): SweepSteps {
  const { leader, mark } = target
  let clean = 0
  let empty = 0
  let killing = 0
  for (let look = 0; look < SWEEP_LIMIT; look++) {
    const { pids, certain } = findSurvivors(target)
    if (pids.length === 0) {
      // Ends processes that only the group connects; harmless if the group is empty.
      if (leader !== undefined && look === 0) signalGroup(leader, "SIGKILL")
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
      if (leader !== undefined) signalGroup(leader, "SIGKILL")
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
