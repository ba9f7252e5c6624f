/**
 * File with what the watch over a run's protected names knows, so that the next Edge continues with it. Also the comparison of two scans of these
 * names.
 *
 * Guarantees: private, and replaced as a whole. A file that cannot be read counts as missing; then the watch says that it is incomplete.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { ProtectedEntry, ProtectedScan } from "./ProtectedTree.ts"
import type { ProtectedChange } from "@corral/domain/run/ProtectedChange"

// Changes of protected names between two scans. Pure.

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

export interface StoredScan extends Omit<ProtectedScan, "entries"> {
  readonly entries: ReadonlyArray<readonly [path: string, entry: ProtectedEntry]>
}

export const storedScan = ({ entries, ...scan }: ProtectedScan): StoredScan => ({
  ...scan,
  entries: [...entries]
})
export const scanOf = ({ entries, ...scan }: StoredScan): ProtectedScan => ({
  ...scan,
  entries: new Map(entries)
})

export class ProtectedRecord<State> {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  read(): State | undefined {
    try {
      // This program wrote the file.
      return JSON.parse(readFileSync(this.#file, "utf8")) as State
    } catch {
      return undefined
    }
  }

  /** A failure is not reported: the next Edge finds an older state, and reports more changes. */
  write(state: State): void {
    try {
      makeFolder(dirname(this.#file))
      writeFileSync(`${this.#file}.new`, JSON.stringify(state), { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    } catch {
      rmSync(this.#file, { force: true })
    }
  }

  remove(): void {
    for (const file of [this.#file, `${this.#file}.new`]) rmSync(file, { force: true })
  }
}
