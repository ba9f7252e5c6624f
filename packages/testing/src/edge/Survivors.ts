/**
 * Processes of an Edge's runs that are alive: with a mark of a run, in the control group of a run, or with the workspace as their folder. Reads
 * /proc and the control groups of this machine independently of the Edge. An Edge that a test starts is in the same group as the test.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmdirSync,
  writeFileSync
} from "node:fs"
import { basename, join } from "node:path"

const ownGroup = /^0::(\/.*)$/m.exec(
  existsSync("/proc/self/cgroup") ? readFileSync("/proc/self/cgroup", "utf8") : ""
)

const canMake = (folder: string): boolean => {
  const tried = join(folder, `corral-test-${process.pid}`)
  try {
    mkdirSync(tried)
    const kills = existsSync(join(tried, "cgroup.kill"))
    rmdirSync(tried)
    return kills
  } catch {
    return false
  }
}

/** Folder of the tests' own group, if tests can create and kill groups in it. */
export const groupsHere: string | undefined = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
  .filter((mount) => ownGroup !== null && existsSync(join(mount, "cgroup.procs")))
  .map((mount) => join(mount, ownGroup?.[1] ?? ""))
  .find(canMake)

const inside = (group: string): ReadonlyArray<string> => {
  try {
    return readdirSync(group, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(group, name))
  } catch {
    // Removed since the listing: other Edges create and remove groups, too.
    return []
  }
}

/** Groups of Edges, not of their runs. */
export const edgeGroups = (): ReadonlyArray<string> =>
  groupsHere === undefined ? [] : inside(groupsHere).filter((group) => basename(group).startsWith("corral-"))

const pidsIn = (group: string): ReadonlyArray<number> => [
  ...attempt(() => readFileSync(join(group, "cgroup.procs"), "latin1"))
    .split("\n")
    .filter((line) => line !== "")
    .map(Number),
  ...inside(group).flatMap(pidsIn)
]

/** Processes in the groups of these runs. */
const groupedPids = (runIds: ReadonlySet<string>): ReadonlySet<number> =>
  new Set(
    edgeGroups()
      .flatMap(inside)
      .filter((group) => runIds.has(basename(group)))
      .flatMap(pidsIn)
  )

const remove = (group: string): void => {
  for (const inner of inside(group)) remove(inner)
  try {
    rmdirSync(group)
  } catch {
    // A process in it can't be killed. An operator has to look at the machine.
  }
}

/** Kills and removes remaining groups of the Edge with this id, and of Edges with one of these runs. */
export const endGroups = async (runIds: ReadonlySet<string>, edgeId?: string): Promise<void> => {
  for (const group of edgeGroups()) {
    const isIts = basename(group) === `corral-${edgeId}`
    if (!isIts && !inside(group).some((run) => runIds.has(basename(run)))) continue
    writeFileSync(join(group, "cgroup.kill"), "1")
    while (readFileSync(join(group, "cgroup.events"), "utf8").includes("populated 1"))
      await new Promise((resolve) => setImmediate(resolve))
    remove(group)
  }
}

export interface Survivor {
  readonly pid: number
  readonly command: string
}

const attempt = (read: () => string): string => {
  try {
    return read()
  } catch {
    // Gone, or another user's.
    return ""
  }
}

/** Longer than the environments of most processes. */
const buffer = Buffer.alloc(262_144)

/** A file of /proc, in fewer calls of the system than `readFileSync` makes. */
const readProc = (path: string): string => {
  const file = openSync(path, "r")
  try {
    let length = 0
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(file, buffer, length, buffer.length - length, null)
    return length < buffer.length ? buffer.toString("latin1", 0, length) : readFileSync(path, "latin1")
  } finally {
    closeSync(file)
  }
}

const isDead = (pid: number): boolean => {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"))
  return stat === "" || /\) [ZX] /.test(stat)
}

/** Without `workspace`, finds processes by marks and groups only. */
export const survivors = (
  workspace: string | undefined,
  runIds: ReadonlySet<string>
): ReadonlyArray<Survivor> => {
  const found: Array<Survivor> = []
  const grouped = groupedPids(runIds)
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const worksHere = workspace !== undefined && attempt(() => readlinkSync(`/proc/${pid}/cwd`)) === workspace
    const mark = /(?:^|\0)CORRAL_RUN_ID=([^\0]*)/.exec(attempt(() => readProc(`/proc/${pid}/environ`)))?.[1]
    const isMarked = mark !== undefined && runIds.has(mark)
    const isGrouped = grouped.has(pid)
    if (!(worksHere || isMarked || isGrouped) || isDead(pid)) continue
    const command = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")).replaceAll("\0", " ")
    found.push({ pid, command: command.trim() })
  }
  return found
}

const signal = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

/** Kills them one by one, by their ids. */
export const endAll = (found: ReadonlyArray<Survivor>): void => {
  for (const { pid } of found) signal(pid, "SIGKILL")
}

const commandOf = (pid: string): ReadonlyArray<string> =>
  attempt(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")).split("\0")

/** The holder of a home's runs, if there is one. */
export const holderOf = (home: string): number | undefined =>
  readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name))
    .map((name) => ({ pid: Number(name), command: commandOf(name) }))
    .find(
      ({ command }) =>
        command.includes(home) && command.some((part) => /holder[^/]*$|holder\/main\.ts$/.test(part))
    )?.pid

/** Ends the holder of a home: by SIGTERM with its runs, by SIGKILL alone. */
export const endHolder = (home: string, name: "SIGTERM" | "SIGKILL" = "SIGTERM"): void => {
  const pid = holderOf(home)
  if (pid !== undefined) signal(pid, name)
}
