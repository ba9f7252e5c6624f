/**
 * Control groups of this machine, read independently of the Edge. An Edge that a test starts is in the same group as the test.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
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

/** The run whose group a process is in, or `undefined`. */
export const groupOf = (cgroup: string): string | undefined =>
  /^0::.*\/corral-[^/]+\/([^/\n]+)/m.exec(cgroup)?.[1]

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
