/**
 * Nothing of a run survives it.
 *
 * Every process of a run carries two marks in its environment: the run's id and the Edge's own. Ending a run signals its group, then
 * everything that is in its session, descends from it or carries its mark, and looks again until it finds nothing. After a crash the
 * Edge's mark finds what its predecessor left.
 *
 * Works from /proc. Where there is none, the process group is all that is reached, and `kind` says so. A process that both leaves
 * the session and wipes its environment is not found.
 */
import type { ContainmentKind } from "@corral/domain/Health"
import { Effect } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"

export const RUN_MARK = "CORRAL_RUN_ID"
export const EDGE_MARK = "CORRAL_EDGE_ID"

export const kind: ContainmentKind = existsSync("/proc/self/environ") ? "environment_mark" : "process_group"

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
  readonly zombie: boolean
}

/** `pid (name) state ppid pgrp session …`: the name may hold anything, so the fields are read after its last parenthesis. */
const parseStat = (pid: number, stat: string): ProcessRow => {
  const [state, parent, , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 4)
  return { pid, parent: Number(parent), session: Number(session), zombie: state === "Z" || state === "X" }
}

/** `undefined` where the process is gone or not ours. */
const readProc = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return undefined
  }
}

const livingProcesses = (): ReadonlyArray<ProcessRow> => {
  const rows: Array<ProcessRow> = []
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const stat = readProc(`/proc/${pid}/stat`)
    if (stat === undefined) continue
    const row = parseStat(pid, stat)
    if (!row.zombie) rows.push(row)
  }
  return rows
}

const carries = (pid: number, mark: string): boolean => {
  const environ = readProc(`/proc/${pid}/environ`)
  return environ !== undefined && (environ.startsWith(`${mark}\0`) || environ.includes(`\0${mark}\0`))
}

/** What is alive and bears `mark`, sits in the leader's session, or descends from something that does. */
export const survivors = (mark: string, leader: number | undefined): ReadonlyArray<number> => {
  if (kind === "process_group") return []
  const rows = livingProcesses()
  const found = new Set<number>()
  for (const row of rows) {
    if (row.session === leader || carries(row.pid, mark)) found.add(row.pid)
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
  return [...found]
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

/**
 * Kills until nothing is found twice in a row: a process that forks while it is looked for shows up in the next look. Gives the
 * number of looks that found something; stops after `SWEEP_LIMIT` looks and says so in the log.
 */
export const sweep = Effect.fnUntraced(function* (mark: string, leader: number | undefined) {
  if (leader !== undefined) signalGroup(leader, "SIGKILL")
  let clean = 0
  let killing = 0
  for (let look = 0; look < SWEEP_LIMIT; look++) {
    const found = survivors(mark, leader)
    if (found.length === 0) {
      if (killing === 0 || ++clean === 2) return killing
    } else {
      clean = 0
      killing++
      // Stopped first, so that none of them forks while the others are killed.
      for (const pid of found) signalOne(pid, "SIGSTOP")
      for (const pid of found) signalOne(pid, "SIGKILL")
    }
    yield* Effect.sleep(SWEEP_PAUSE)
  }
  yield* Effect.logError(`processes marked ${mark} are still alive after ${SWEEP_LIMIT} sweeps`)
  return killing
})
