/**
 * Control groups (cgroup v2) that hold a run's processes together: whatever one of them does to its session, its parent or its
 * environment, it stays in the group with all that it starts, and one write kills them all.
 *
 * A group is its folder. No controller is enabled, so nothing is limited or counted. A process can move itself into another group that
 * its user may write: a caller that relies on a group searches for the marks, too.
 */
import { Effect } from "effect"
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

const PREFIX = "corral-"

/** The group of that Edge's runs below `own`. */
export const edgeGroup = (own: string, edgeId: string): string => join(own, PREFIX + edgeId)

const lines = (file: string): ReadonlyArray<string> => {
  try {
    return readFileSync(file, "utf8").split("\n")
  } catch {
    return []
  }
}

interface Hierarchy {
  /** Which group is seen at `folder`. */
  readonly root: string
  readonly folder: string
}

/** `id parent device root folder options … - type …`, with spaces and the like in octal. */
const mounted = (): ReadonlyArray<Hierarchy> =>
  lines("/proc/self/mountinfo").flatMap((line) => {
    const [, , , root, folder] = line.split(" ")
    if (root === undefined || folder === undefined || !line.includes(" - cgroup2 ")) return []
    const plain = (path: string) =>
      path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    return [{ root: plain(root), folder: plain(folder) }]
  })

/** The group of this process; `undefined` where there is no hierarchy, or the group is not to be seen in it. */
export const ownGroup = (): string | undefined => {
  const own = lines("/proc/self/cgroup")
    .find((line) => line.startsWith("0::/"))
    ?.slice("0::".length)
  if (own === undefined || own.includes("/..")) return undefined
  for (const { folder, root } of mounted()) {
    const top = root === "/" ? "" : root
    if (own === top || own.startsWith(`${top}/`)) return join(folder, own.slice(top.length))
  }
  return undefined
}

const groupsIn = (group: string): ReadonlyArray<string> => {
  try {
    const entries = readdirSync(group, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(group, name))
  } catch {
    return []
  }
}

/** Every group of that Edge, wherever in the hierarchy it stood when it made them. */
export const groupsOfEdge = (edgeId: string): ReadonlyArray<string> => {
  const find = (group: string): ReadonlyArray<string> =>
    groupsIn(group).flatMap((inner) => (basename(inner) === PREFIX + edgeId ? [inner] : find(inner)))
  return mounted().flatMap(({ folder }) => find(folder))
}

/** Made where it is missing; throws where it may not be. */
export const makeGroup = (group: string): void => void mkdirSync(group, { recursive: true })

/**
 * The command that runs a program inside a group. A shell moves itself and becomes the program: same process, arguments untouched, and
 * no moment at which the program is outside. Where the group cannot be entered it ends with 126 and runs nothing.
 */
export const entering = (
  group: string,
  file: string,
  args: ReadonlyArray<string>
): { readonly file: string; readonly args: ReadonlyArray<string> } => ({
  file: "/bin/sh",
  args: ["-c", 'echo 0 >"$0" || exit 126; exec "$@"', join(group, "cgroup.procs"), file, ...args]
})

/** Tells the kernel to kill all that is in it and below; `false` where it does not do that, or the group is gone. */
export const killGroup = (group: string): boolean => {
  try {
    writeFileSync(join(group, "cgroup.kill"), "1")
    return true
  } catch {
    return false
  }
}

const isPopulated = (group: string): boolean => lines(join(group, "cgroup.events")).includes("populated 1")

const PAUSE = "1 millis"
const LIMIT = 2_000

/** Kills until the group is empty. Returns how often it was not. Processes that the kernel cannot end (they wait for a device) are logged. */
export const emptyGroup = Effect.fnUntraced(function* (group: string) {
  for (let look = 0; look < LIMIT; look++) {
    if (!isPopulated(group)) return look
    killGroup(group)
    yield* Effect.sleep(PAUSE)
  }
  yield* Effect.logError(`processes in ${basename(group)} are still alive after ${LIMIT} kills`)
  return LIMIT
})

const removed = (group: string): boolean => {
  try {
    rmdirSync(group)
    return true
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.code === "ENOENT"
  }
}

/** Removes it, what was made inside, and the Edge's own group with its last one. `false` where something is in it. */
export const removeGroup = (group: string): boolean => {
  for (const inner of groupsIn(group)) removeGroup(inner)
  const gone = removed(group)
  if (basename(dirname(group)).startsWith(PREFIX)) removed(dirname(group))
  return gone
}
