/**
 * Search for the processes of runs in /proc. Every process of a run has two marks in its environment: the run's id and the Edge's. Two files are
 * read for each process, with few system calls and one buffer for all. Also the steps of a sweep: searches, pauses between them, and what an operator
 * has to look at.
 *
 * Guarantees: finds every process in the run's session, with its mark, or descended from one of these. One search serves any number of runs.
 * Does not: find a process that leaves the session, clears its environment and loses its parent.
 */
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readSync } from "node:fs"

const buffer = Buffer.allocUnsafe(65_536)

const readAll = (file: number): string => {
  let text = ""
  for (;;) {
    const size = readSync(file, buffer)
    if (size === 0) return text
    text += buffer.toString("latin1", 0, size)
  }
}

/** Text of a file, one character for each byte; `undefined` if the process has ended or belongs to another user. */
export const readProc = (path: string): string | undefined => {
  let file: number | undefined
  try {
    file = openSync(path, "r")
    return readAll(file)
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

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
const fieldsOf = (stat: string): ReadonlyArray<string> => stat.slice(stat.lastIndexOf(")") + 2).split(" ")

const parseStat = (pid: number, stat: string): ProcessRow => {
  const fields = fieldsOf(stat)
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

export interface Survivors {
  readonly pids: ReadonlyArray<number>
  /** Whether none was missed: each process that started during the search was examined, too. */
  readonly certain: boolean
}

/** Start time of a process, for `MarkedProcesses`; 0, which excludes nothing, if it is unknown. */
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
  /** Start time of the leader. */
  readonly since?: number | undefined
}

/** Environment of a process that cannot carry a mark. */
const NONE = "\0"

/**
 * Whether a process whose environment reads as empty has none. During an exec it has none yet, and the kernel gives no place for it. Read after the
 * environment, so that an exec which ends in between shows.
 */
const hasNoEnvironment = (name: string): boolean => {
  const fields = fieldsOf(readProc(`/proc/${name}/stat`) ?? "")
  const [start, end] = [fields[47], fields[48]]
  return start !== undefined && start !== "0" && start === end
}

/** The environment of a process; "" during an exec, `undefined` after its end, or of another user's process. */
const environmentOf = (name: string): string | undefined => {
  const environ = readProc(`/proc/${name}/environ`)
  return environ === "" && hasNoEnvironment(name) ? NONE : environ
}

interface SeenProcess {
  /** What tells its folder in /proc from that of another process with its number. */
  readonly folder: string
  /** Clock ticks since boot. */
  readonly startedAt: number
}

/**
 * Start times that earlier searches have read. To know that a process started before all targets costs a tenth of reading its state again.
 *
 * Guarantees: a start time is that of the process which has the number now. A process that takes the number of an earlier one has another folder in
 * /proc, with another inode and another time. If the kernel has dropped the folder from its memory, the state is read again.
 */
export class SeenProcesses {
  #seen = new Map<string, SeenProcess>()
  #next = new Map<string, SeenProcess>()

  /** Whether the process started before that time, as an earlier search has read. */
  isOlder(name: string, since: number): boolean {
    const seen = this.#seen.get(name)
    if (seen === undefined || seen.startedAt >= since || folderOf(name) !== seen.folder) return false
    this.#next.set(name, seen)
    return true
  }

  /** Reads the start time of the process with `read`. */
  read(name: string, read: () => ProcessRow | undefined): ProcessRow | undefined {
    // Before the state: a process that takes the number in between has another folder.
    const folder = folderOf(name)
    const row = read()
    if (folder !== undefined && row !== undefined) this.#next.set(name, { folder, startedAt: row.startedAt })
    return row
  }

  /** Forgets what has ended. */
  finish(): void {
    this.#seen = this.#next
    this.#next = new Map()
  }
}

const folderOf = (name: string): string | undefined => {
  const folder = lstatSync(`/proc/${name}`, { throwIfNoEntry: false })
  return folder === undefined ? undefined : `${folder.ino} ${folder.ctimeMs}`
}

/** Listings of one search. A busy machine starts processes all the time; few of them end before they are examined. */
const MAX_LISTINGS = 8

/** One target while all processes are examined. */
class TargetSearch {
  readonly found = new Set<number>()
  /** What started earlier is not of the target: neither its leader, nor of its session, nor a descendant. */
  readonly since: number
  readonly #target: MarkedProcesses
  /** Whether the leader's number belongs to a later process: then the session has ended. */
  #isLeaderReused = false

  constructor(target: MarkedProcesses) {
    this.#target = target
    this.since = target.since ?? 0
  }

  /** Whether the environment decides. */
  needsEnvironment({ kernel, startedAt }: ProcessRow): boolean {
    return !kernel && startedAt >= this.since
  }

  examine(row: ProcessRow, environ: string | undefined): void {
    const { except = [], leader, mark } = this.#target
    if (row.pid === leader && this.since !== 0 && row.startedAt !== this.since) this.#isLeaderReused = true
    if (row.session === leader && row.startedAt >= this.since) this.found.add(row.pid)
    if (environ === undefined || !this.needsEnvironment(row)) return
    if (carries(environ, mark) && !except.some((other) => carries(environ, other))) this.found.add(row.pid)
  }

  /** What was found, and the descendants. */
  survivors(rows: ReadonlyArray<ProcessRow>): ReadonlyArray<number> {
    const { leader } = this.#target
    if (this.#isLeaderReused)
      for (const { pid, session } of rows) if (session === leader) this.found.delete(pid)
    for (let grown = true; grown;) {
      grown = false
      for (const row of rows) {
        if (!this.found.has(row.pid) && this.found.has(row.parent)) {
          this.found.add(row.pid)
          grown = true
        }
      }
    }
    return [...this.found]
  }
}

/**
 * Examines each process once. A process that ends before it is examined may have started another, which is in the next listing. So is a
 * process whose id is lower than that of its parent, where ids have started again from the lowest: at least two listings are needed.
 */
const examineAll = (searches: ReadonlyArray<TargetSearch>, seen: SeenProcesses) => {
  const since = Math.min(...searches.map((search) => search.since))
  const examined = new Set([String(process.pid)])
  const rows: Array<ProcessRow> = []
  /** Whether a process may have been missed. */
  const examine = (name: string): boolean => {
    if (seen.isOlder(name, since)) {
      examined.add(name)
      return false
    }
    const row = seen.read(name, () => {
      const stat = readProc(`/proc/${name}/stat`)
      return stat === undefined ? undefined : parseStat(Number(name), stat)
    })
    if (row === undefined || row.zombie) {
      examined.add(name)
      return true
    }
    rows.push(row)
    const environ = searches.some((search) => search.needsEnvironment(row)) ? environmentOf(name) : NONE
    // During an exec: examined again.
    if (environ !== "") examined.add(name)
    for (const search of searches) search.examine(row, environ)
    return environ === "" || environ === undefined
  }
  let certain = false
  for (let listing = 0; listing < MAX_LISTINGS && !certain; listing++) {
    const missed = listed()
      .filter((name) => !examined.has(name))
      .map(examine)
    certain = listing > 0 && !missed.includes(true)
  }
  seen.finish()
  return { certain, rows }
}

/** For each target, the living processes with the mark, in the leader's session, or descended from one of these. `seen` is of earlier searches. */
export const findAllSurvivors = (
  targets: ReadonlyArray<MarkedProcesses>,
  seen = new SeenProcesses()
): ReadonlyArray<Survivors> => {
  const searches = targets.map((target) => new TargetSearch(target))
  if (!hasProc || searches.length === 0) return searches.map(() => ({ pids: [], certain: true }))
  const { certain, rows } = examineAll(searches, seen)
  return searches.map((search) => ({ pids: search.survivors(rows), certain }))
}

/** The same for one target. */
export const findSurvivors = (target: MarkedProcesses): Survivors =>
  findAllSurvivors([target])[0] ?? { pids: [], certain: false }

type SweepStep =
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
