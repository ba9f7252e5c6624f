/** Changes of protected names between two scans. Pure. */
import type { ProtectedChange } from "@corral/domain/run/ProtectedChange"
import type { ProtectedEntry, ProtectedScan } from "./ProtectedTree.ts"

/** Clocks of file systems are coarse. */
const MARGIN_MS = 20

/** A scan that reached a limit has not seen every name: only a name that changed since then can be new. */
const isNew = ({ changedMs }: ProtectedEntry, before: ProtectedScan): boolean =>
  before.isComplete || changedMs >= before.startedMs - MARGIN_MS

/** By path, sorted. */
export const changesBetween = (before: ProtectedScan, now: ProtectedScan): ReadonlyArray<ProtectedChange> => {
  const changes: Array<ProtectedChange> = []
  for (const [path, entry] of now.entries) {
    const earlier = before.entries.get(path)
    if (earlier?.stamp === entry.stamp) continue
    if (earlier !== undefined || entry.kind === "unreadable") changes.push({ path, change: "modified" })
    else if (isNew(entry, before)) changes.push({ path, change: "created" })
  }
  for (const path of before.entries.keys())
    if (!now.entries.has(path)) changes.push({ path, change: "deleted" })
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

const foldersAbove = (path: string): ReadonlyArray<string> =>
  path.split("/").map((_, at, names) => names.slice(0, at).join("/"))

/**
 * Changes that are left without those that `isCovered`. The folder of a covered change is covered where it was created for it; a folder that
 * was created or deleted stands for everything in it.
 */
export const uncovered = (
  changes: ReadonlyArray<ProtectedChange>,
  isCovered: (path: string) => boolean
): ReadonlyArray<ProtectedChange> => {
  const covered = changes.filter(({ path }) => isCovered(path))
  const folders = new Set(covered.flatMap(({ path }) => foldersAbove(path)))
  const coveredPaths = new Set(covered.map(({ path }) => path))
  const rest = changes.filter(
    ({ change, path }) => !coveredPaths.has(path) && !(change === "created" && folders.has(path))
  )
  const whole = new Set(rest.flatMap(({ change, path }) => (change === "modified" ? [] : [path])))
  return rest.filter(
    ({ change, path }) => change === "modified" || !foldersAbove(path).some((folder) => whole.has(folder))
  )
}
