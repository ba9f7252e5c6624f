/**
 * Control groups (cgroup v2) of runs. A process stays in its group, with all its children, even if it changes its session, parent or environment. One
 * write kills the whole group.
 *
 * No controller is enabled, so nothing is limited or counted. A process can move itself into another group that its user may write, so a caller
 * also searches for the marks.
 *
 * Does not: import Effect. The holder loads this module, and starts sooner without it.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import type { SweepSteps } from "./MarkSearch.ts"

const PREFIX = "corral-"

const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? ""

/** Folder of the groups of an Edge's runs, below `parentGroup`. */
export const edgeGroup = (parentGroup: string, edgeId: string): string => join(parentGroup, PREFIX + edgeId)

const lines = (file: string): ReadonlyArray<string> => {
  try {
    return readFileSync(file, "utf8").split("\n")
  } catch {
    return []
  }
}

interface Hierarchy {
  readonly device: string
  /** The root that is mounted at `folder`. */
  readonly root: string
  readonly folder: string
}

/** A path of `mountinfo`, in which spaces and other characters are octal numbers. */
export const unescapedPath = (path: string): string =>
  path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

/** `id parent device root folder options … - type …`, with octal escapes for spaces and other characters. */
const mounted = (): ReadonlyArray<Hierarchy> =>
  lines("/proc/self/mountinfo").flatMap((line) => {
    const [, , device, root, folder] = line.split(" ")
    if (device === undefined || root === undefined || folder === undefined || !line.includes(" - cgroup2 "))
      return []
    return [{ device, root: unescapedPath(root), folder: unescapedPath(folder) }]
  })

const namespaceName = (): string | undefined => {
  try {
    return readlinkSync("/proc/self/ns/cgroup")
  } catch {
    return undefined
  }
}

/**
 * Name of what this process sees of the hierarchy: the boot, the namespace and the mounts. Under the same name, a path is the same group
 * or no group. `undefined` without a hierarchy.
 */
export const hierarchyName = (): string | undefined => {
  const [boot] = lines("/proc/sys/kernel/random/boot_id")
  const namespace = namespaceName()
  const mounts = mounted()
  if (boot === undefined || namespace === undefined || mounts.length === 0) return undefined
  return JSON.stringify([
    boot,
    namespace,
    ...mounts.map(({ device, folder, root }) => [device, root, folder])
  ])
}

/** The group of this process; `undefined` without a hierarchy, or if the hierarchy does not show the group. */
export const ownGroup = (): string | undefined => {
  const path = lines("/proc/self/cgroup")
    .find((line) => line.startsWith("0::/"))
    ?.slice("0::".length)
  if (path === undefined || path.includes("/..")) return undefined
  for (const { folder, root } of mounted()) {
    const top = root === "/" ? "" : root
    if (path === top || path.startsWith(`${top}/`)) return join(folder, path.slice(top.length))
  }
  return undefined
}

/** Groups directly inside a group. */
export const groupsIn = (group: string): ReadonlyArray<string> => {
  try {
    const entries = readdirSync(group, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(group, name))
  } catch {
    return []
  }
}

/** Every group of an Edge, anywhere in the hierarchy. */
export const groupsOfEdge = (edgeId: string): ReadonlyArray<string> => {
  const find = (group: string): ReadonlyArray<string> =>
    groupsIn(group).flatMap((inner) => (basename(inner) === PREFIX + edgeId ? [inner] : find(inner)))
  return mounted().flatMap(({ folder }) => find(folder))
}

/** Attempts to make a group whose Edge's group goes away meanwhile. */
const ATTEMPTS = 20

/**
 * Creates a group if it is missing. Throws without permission. Another process of the Edge may remove the Edge's group with the last run's, just before
 * this one is in it: then both are created again.
 */
export const makeGroup = (group: string): void => {
  for (let attempt = 1; ; attempt++) {
    try {
      return makeFolder(group, 0o777)
    } catch (cause) {
      if (attempt === ATTEMPTS || !["EEXIST", "ENOENT"].includes(codeOf(cause))) throw cause
    }
  }
}

/**
 * Command that runs a program inside a group. A shell enters the group and then executes the program, so the program is never outside. The
 * process and the arguments stay the same. If the group cannot be entered, the shell ends with 126 and runs nothing.
 */
export const commandInGroup = (
  group: string,
  file: string,
  args: ReadonlyArray<string>
): { readonly file: string; readonly args: ReadonlyArray<string> } => ({
  file: "/bin/sh",
  args: ["-c", 'echo 0 >"$0" || exit 126; exec "$@"', join(group, "cgroup.procs"), file, ...args]
})

/** Kills all processes of a group and of the groups below, by the kernel; `false` if that is not supported or the group does not exist. */
export const killGroup = (group: string): boolean => {
  try {
    writeFileSync(join(group, "cgroup.kill"), "1")
    return true
  } catch {
    return false
  }
}

/** Freezes the processes of a group and of the groups below, or lets them continue; `false` if that is not supported. */
export const setFrozen = (group: string, frozen: boolean): boolean => {
  try {
    writeFileSync(join(group, "cgroup.freeze"), frozen ? "1" : "0")
    return true
  } catch {
    return false
  }
}

/** Whether all processes of the group are frozen. */
export const isFrozen = (group: string): boolean => lines(join(group, "cgroup.events")).includes("frozen 1")

/** Whether a process is in the group or in a group inside. */
export const isPopulated = (group: string): boolean =>
  lines(join(group, "cgroup.events")).includes("populated 1")

const PAUSE_MS = 1
const LIMIT = 2_000

/** Kills until the group is empty. Reports processes that the kernel cannot end, such as those waiting for a device. */
export function* emptyGroup(group: string): SweepSteps {
  for (let look = 0; look < LIMIT; look++) {
    if (!isPopulated(group)) return look
    killGroup(group)
    yield { _tag: "Pause", millis: PAUSE_MS }
  }
  yield {
    _tag: "Failure",
    message: "failed to kill the processes of a control group",
    details: { group: basename(group), attempts: LIMIT }
  }
  return LIMIT
}

const removed = (group: string): boolean => {
  try {
    rmdirSync(group)
    return true
  } catch (cause) {
    return codeOf(cause) === "ENOENT"
  }
}

/** Removes a group, the groups inside, and the Edge's own group with its last one. `false` if there are processes in it. */
export const removeGroup = (group: string): boolean => {
  for (const inner of groupsIn(group)) removeGroup(inner)
  const isRemoved = removed(group)
  if (basename(dirname(group)).startsWith(PREFIX)) removed(dirname(group))
  return isRemoved
}
