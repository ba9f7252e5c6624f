/**
 * Mounts of a run in a layer, from those that it would have in the workspace itself. Also the search for other paths of this machine at which the
 * workspace's folder is mounted.
 *
 * Guarantees: what is below the workspace's path comes from the layer. A run whose mounts would show the folder at another path does not start.
 */
import { readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { unescapedPath } from "../process/ControlGroup.ts"
import { isWithin } from "../workspace/PathContainment.ts"
import type { Mount } from "./Mount.ts"

/** The mounts, with `source` at the path of the workspace `root`. */
export const layeredMounts = (
  mounts: ReadonlyArray<Mount>,
  root: string,
  source: string
): ReadonlyArray<Mount> =>
  mounts.map((mount) =>
    (mount.kind === "read" || mount.kind === "write") &&
    mount.source === undefined &&
    isWithin(root, mount.path)
      ? { ...mount, source: join(source, relative(root, mount.path)) }
      : mount
  )

interface MountPoint {
  readonly device: string
  /** Path in the file system that is mounted. */
  readonly root: string
  readonly path: string
}

/** Mount points in a `mountinfo`, in the order in which they were made. */
const mountPoints = (mountinfo: string): ReadonlyArray<MountPoint> =>
  mountinfo.split("\n").flatMap((line) => {
    const [, , device, root, path] = line.split(" ")
    return device === undefined || root === undefined || path === undefined
      ? []
      : [{ device, root: unescapedPath(root), path: unescapedPath(path) }]
  })

/** Other paths that show the folder, a part of it, or a folder around it. */
export const otherPathsOf = (root: string, mountinfo: string): ReadonlyArray<string> => {
  const points = mountPoints(mountinfo)
  const around = points
    .filter(({ path }) => isWithin(path, root))
    .reduce<MountPoint | undefined>(
      (best, each) => (best !== undefined && best.path.length > each.path.length ? best : each),
      undefined
    )
  if (around === undefined) return []
  const inSystem = join(around.root, relative(around.path, root))
  return points.flatMap((point) => {
    if (point === around || point.device !== around.device) return []
    const path = isWithin(point.root, inSystem)
      ? join(point.path, relative(point.root, inSystem))
      : isWithin(inSystem, point.root)
        ? point.path
        : undefined
    // Below the workspace's around path, the layer is seen.
    return path === undefined || isWithin(root, path) ? [] : [path]
  })
}

/** A path at which the mounts would show the workspace's folder; `undefined` if there is none. */
export const exposedPath = (
  mounts: ReadonlyArray<Mount>,
  root: string,
  mountinfo = readFileSync("/proc/self/mountinfo", "utf8")
): string | undefined => {
  const others = otherPathsOf(root, mountinfo)
  const sources = mounts.flatMap((mount) =>
    mount.kind === "read" || mount.kind === "write" ? [mount.source ?? mount.path] : []
  )
  return others.find((path) => sources.some((source) => isWithin(source, path) || isWithin(path, source)))
}
