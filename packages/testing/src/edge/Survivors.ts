/**
 * Processes of an Edge's runs that are alive: with a mark of a run, in the control group of a run, or with the workspace as their folder.
 * Reads /proc independently of the Edge.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { groupOf } from "./ControlGroups.ts"

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
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid)) continue
    const worksHere = workspace !== undefined && attempt(() => readlinkSync(`/proc/${pid}/cwd`)) === workspace
    const mark = /(?:^|\0)CORRAL_RUN_ID=([^\0]*)/.exec(
      attempt(() => readFileSync(`/proc/${pid}/environ`, "latin1"))
    )?.[1]
    const isMarked = mark !== undefined && runIds.has(mark)
    const group = groupOf(attempt(() => readFileSync(`/proc/${pid}/cgroup`, "latin1")))
    const isGrouped = group !== undefined && runIds.has(group)
    if (!(worksHere || isMarked || isGrouped) || isDead(pid)) continue
    const command = attempt(() => readFileSync(`/proc/${pid}/cmdline`, "latin1")).replaceAll("\0", " ")
    found.push({ pid, command: command.trim() })
  }
  return found
}

/** Kills them one by one, by their ids. */
export const endAll = (found: ReadonlyArray<Survivor>): void => {
  for (const { pid } of found) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }
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
export const endHolder = (home: string, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): void => {
  const pid = holderOf(home)
  if (pid !== undefined) process.kill(pid, signal)
}
