/**
 * Entries of a folder that match patterns. No link is followed.
 *
 * Guarantees: only folders on the way of a pattern are read, and at most a number of entries.
 */
import type { Stats } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"
import { statOf } from "./FileLook.ts"
import type { PatternBindings, StatePattern } from "./StatePattern.ts"

export interface StateEntry {
  /** Relative to the folder. */
  readonly path: string
  readonly stat: Stats
  readonly bindings: PatternBindings
}

/** Bound of the work on a folder that a run filled. */
export const MAX_ENTRIES = 20_000

interface Reached {
  readonly pattern: StatePattern
  readonly bindings: PatternBindings
}

interface Visit {
  readonly path: string
  readonly depth: number
  readonly reached: ReadonlyArray<Reached>
}

/** Names in a folder that may match: without a wildcard the folder is not read. */
const namesIn = async (folder: string, { depth, reached }: Visit): Promise<ReadonlyArray<string>> => {
  const names = reached.map(({ pattern }) => pattern.nameAt(depth))
  const exact = names.filter((name) => name !== undefined)
  if (exact.length === names.length) return [...new Set(exact)]
  return readdir(folder).catch(() => [])
}

/** Number of entries that are looked at without other threads, which cost ten times as much. */
const FEW = 64

const statsOf = (paths: ReadonlyArray<string>): Promise<ReadonlyArray<Stats | undefined>> =>
  paths.length <= FEW
    ? Promise.resolve(paths.map(statOf))
    : Promise.all(paths.map((path) => lstat(path).catch(() => undefined)))

/** The entries that match, each once. Further ones are left out if there are too many. */
export const entriesMatching = async (
  root: string,
  patterns: ReadonlyArray<StatePattern>,
  limit = MAX_ENTRIES
): Promise<ReadonlyArray<StateEntry>> => {
  const found: Array<StateEntry> = []
  const visits: Array<Visit> = [
    { path: "", depth: 0, reached: patterns.map((pattern) => ({ pattern, bindings: {} })) }
  ]
  let seen = 0
  for (let visit = visits.pop(); visit !== undefined; visit = visits.pop()) {
    const { depth, path: around, reached } = visit
    const names = await namesIn(join(root, around), visit)
    seen += names.length
    if (seen > limit) return found
    const matches = names.flatMap((name) => {
      const next = reached.flatMap(({ bindings, pattern }) => {
        const bound = pattern.match(depth, name, bindings)
        return bound === undefined ? [] : [{ pattern, bindings: bound }]
      })
      return next.length === 0 ? [] : [{ name, next }]
    })
    const stats = await statsOf(matches.map(({ name }) => join(root, around, name)))
    for (const [index, { name, next }] of matches.entries()) {
      const stat = stats[index]
      if (stat === undefined) continue
      const path = around === "" ? name : `${around}/${name}`
      const whole = next.find(({ pattern }) => pattern.length === depth + 1)
      if (whole !== undefined) found.push({ path, stat, bindings: whole.bindings })
      const longer = next.filter(({ pattern }) => pattern.length > depth + 1)
      if (longer.length > 0 && stat.isDirectory()) visits.push({ path, depth: depth + 1, reached: longer })
    }
  }
  return found
}

/** Number of entries below a folder that are no folders, up to the bound. */
export const countFiles = async (root: string, isCounted: (path: string) => boolean): Promise<number> => {
  const folders = [""]
  let count = 0
  let seen = 0
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      if (++seen > MAX_ENTRIES) return count
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) folders.push(path)
      else if (isCounted(path)) count++
    }
  }
  return count
}
