/**
 * Finds and kills what is of a run by its marks.
 *
 * Every process of a run carries two marks in its environment: the run's id and the Edge's own. A sweep signals the process group, then
 * everything that is in its session, descends from it or carries the mark, and looks again until it finds nothing.
 *
 * Works from /proc. Where there is none, the process group is all that is reached. A process that leaves the session, wipes its
 * environment and loses its parent is not found by this.
 */
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"

export const RUN_MARK = "CORRAL_RUN_ID"
export const EDGE_MARK = "CORRAL_EDGE_ID"

/** Whether processes can be looked at: without it the process group is all that is known of a run. */
export const hasProc = existsSync("/proc/self/environ")

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
  readonly zombie: boolean
  /** A thread of the kernel: it has no environment and never will. */
  readonly kernel: boolean
  /** Clock ticks since boot. */
  readonly startedAt: number
}

/** `pid (name) state ppid pgrp session …`: the name may hold anything, so the fields are read after its last parenthesis. */
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

/** `undefined` where the process is gone or not ours. */
const readProc = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return undefined
  }
}

interface Look {
  readonly rows: ReadonlyArray<ProcessRow>
  /** A process came or went while it was looked at: what it left may have been missed. */
  readonly moved: boolean
}

const listed = (): ReadonlyArray<string> => readdirSync("/proc").filter((name) => name >= "0" && name < ":")

const livingProcesses = (): Look => {
  const rows: Array<ProcessRow> = []
  const names = listed()
  let moved = false
  for (const name of names) {
    const pid = Number(name)
    if (pid === process.pid) continue
    const stat = readProc(`/proc/${name}/stat`)
    if (stat === undefined) {
      moved = true
      continue
    }
    const row = parseStat(pid, stat)
    if (!row.zombie) rows.push(row)
  }
  return { rows, moved }
}

const carries = (environ: string, mark: string): boolean =>
  environ.startsWith(`${mark}\0`) || environ.includes(`\0${mark}\0`)

const isZombie = (pid: string): boolean => {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat === undefined || parseStat(Number(pid), stat).zombie
}

interface Survivors {
  readonly pids: ReadonlyArray<number>
  /** Nothing can have slipped through: no process came, went or changed its program while it was looked at. */
  readonly certain: boolean
}

/** When that process began, for `survivors`: 0, which excludes nothing, where it cannot be known. */
export const processStartTime = (pid: number | undefined): number => {
  const stat = pid === undefined || !hasProc ? undefined : readProc(`/proc/${pid}/stat`)
  return stat === undefined || pid === undefined ? 0 : parseStat(pid, stat).startedAt
}

/** Whose processes to look for. `since`: nothing that began earlier belongs to it, and is not looked into. */
export interface MarkedProcesses {
  /** `NAME=value` in the environment. */
  readonly mark: string
  /** Who leads the session. */
  readonly leader?: number | undefined
  readonly since?: number | undefined
}

/** What is alive and bears `mark`, sits in the leader's session, or descends from something that does. */
export const findSurvivors = ({ mark, leader, since = 0 }: MarkedProcesses): Survivors => {
  if (!hasProc) return { pids: [], certain: true }
  const { rows, moved } = livingProcesses()
  const found = new Set<number>()
  let changing = moved
  for (const row of rows) {
    const environ = row.kernel || row.startedAt < since ? undefined : readProc(`/proc/${row.pid}/environ`)
    // Empty in the middle of an exec; unreadable where it is gone or another user's.
    if (environ === "") changing = true
    if (row.session === leader || (environ !== undefined && carries(environ, mark))) found.add(row.pid)
  }
  for (let grown = true; grown;) {
    grown = false
    for (const row of rows) {
      if (!found.has(row.pid) && found.has(row.parent)) {
        found.add(row.pid)
        grown = true
      }
    }
  }
  const before = new Set(rows.map((row) => row.pid))
  const came = listed().some(
    (name) => !before.has(Number(name)) && Number(name) !== process.pid && !isZombie(name)
  )
  return { pids: [...found], certain: !changing && !came }
}

const signalOne = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // Gone between the look and the signal.
  }
}

/** Signals the whole process group that `leader` leads. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalOne(-leader, signal)

const SWEEP_PAUSE = "2 millis"
const SWEEP_LIMIT = 1_000
/** A busy machine is never quiet: after this many looks that found nothing, uncertain ones count too. */
const EMPTY_LIMIT = { beforeKilling: 4, afterKilling: 12 }

/**
 * Kills until nothing is found. A process that forks or changes its program while it is looked for can slip through one look, so an
 * empty look counts only when nothing moved during it, and after a kill it takes two. Gives the number of looks that found something;
 * stops after `SWEEP_LIMIT` looks and says so in the log.
 */
export const sweepMarked = Effect.fnUntraced(function* (quarry: MarkedProcesses) {
  const { leader, mark } = quarry
  let clean = 0
  let empty = 0
  let killing = 0
  for (let look = 0; look < SWEEP_LIMIT; look++) {
    const { pids, certain } = findSurvivors(quarry)
    if (pids.length === 0) {
      // What only the group still holds together is ended, too; harmless where it is empty.
      if (leader !== undefined && look === 0) signalGroup(leader, "SIGKILL")
      empty++
      clean = certain ? clean + 1 : 0
      const patience = killing === 0 ? EMPTY_LIMIT.beforeKilling : EMPTY_LIMIT.afterKilling
      if (clean === (killing === 0 ? 1 : 2) || empty >= patience) return killing
    } else {
      clean = 0
      empty = 0
      killing++
      // Stopped first, so that none of them forks while the others are killed.
      for (const pid of pids) signalOne(pid, "SIGSTOP")
      for (const pid of pids) signalOne(pid, "SIGKILL")
      if (leader !== undefined) signalGroup(leader, "SIGKILL")
    }
    yield* Effect.sleep(SWEEP_PAUSE)
  }
  yield* Effect.logError(`processes marked ${mark} are still alive after ${SWEEP_LIMIT} sweeps`)
  return killing
})
