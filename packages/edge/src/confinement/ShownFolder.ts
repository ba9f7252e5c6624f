/**
 * What a run sees of a folder of the machine, by a rule about its entries: with few mounts, because each one delays the start.
 *
 * Guarantees: an entry that the rule does not show is not shown. If all are shown, the folder is one mount. If few are not, the folder is shown and
 * those are covered.
 *
 * Does not: cover a link, which shows nothing by itself, or what is made later in a folder that is shown.
 */
import { type Dirent, readlinkSync, statSync } from "node:fs"
import { join } from "node:path"
import { folderEntries } from "../workspace/FolderEntries.ts"
import type { Mount } from "./Mount.ts"

/** Names that are read of one folder. Without a complete list, nothing of it is shown. */
const MAX_NAMES = 8_192

export interface ShownFolder {
  /** Whether everything in it is shown. */
  readonly isWhole: boolean
  readonly mounts: ReadonlyArray<Mount>
}

export const nothingShown: ShownFolder = { isWhole: false, mounts: [] }

/** A folder or file with everything in it. */
export const shownWhole = (path: string): ShownFolder => ({ isWhole: true, mounts: [{ kind: "read", path }] })

/** What an entry shows, by its name and path. */
export type EntryRule = (name: string, path: string, entry: Dirent) => ShownFolder

const entriesOf = (folder: string): ReadonlyArray<Dirent> => {
  const entries = folderEntries(folder)
  return entries.length > MAX_NAMES ? [] : entries
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const coverOf = (path: string): Mount => ({ kind: isFolder(path) ? "hidden" : "hidden_file", path })

/** The folder by the rule. */
export const shownByRule = (folder: string, rule: EntryRule): ShownFolder => {
  const entries = entriesOf(folder).map((entry) => {
    const path = join(folder, entry.name)
    const isLink = entry.isSymbolicLink()
    const shown = rule(entry.name, path, entry)
    return { path, isLink, shown, isWhole: shown.isWhole || isLink }
  })
  if (entries.length === 0) return nothingShown
  if (entries.every(({ isWhole }) => isWhole)) return shownWhole(folder)
  const single = entries.flatMap(({ isLink, path, shown }): ReadonlyArray<Mount> =>
    isLink && shown.isWhole ? [{ kind: "link", path, target: readlinkSync(path) }] : shown.mounts
  )
  const rest = entries.filter(({ isWhole }) => !isWhole)
  if (rest.length >= single.length || rest.some(({ shown }) => shown.mounts.length > 0))
    return { isWhole: false, mounts: single }
  return {
    isWhole: false,
    mounts: [{ kind: "read", path: folder }, ...rest.map(({ path }) => coverOf(path))]
  }
}
