/**
 * What a run sees of a folder of the machine, by a rule about its entries: with few mounts, because each one delays the start.
 *
 * Guarantees: an entry that the rule does not show is not shown. If all are shown, the folder is one mount. If few are not, the folder is shown and
 * those are covered. A folder of such folders is one mount with their covers.
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
  readonly mounts: ReadonlyArray<Mount>
  /** What is covered where the folder is shown with everything in it; `undefined` if only parts of it are shown. */
  readonly covers: ReadonlyArray<Mount> | undefined
}

export const nothingShown: ShownFolder = { mounts: [], covers: undefined }

const shownBut = (path: string, covers: ReadonlyArray<Mount>): ShownFolder => ({
  mounts: [{ kind: "read", path }, ...covers],
  covers
})

/** A folder or file with everything in it. */
export const shownWhole = (path: string): ShownFolder => shownBut(path, [])

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
    const shown = rule(entry.name, path, entry)
    return { path, shown, isLink: entry.isSymbolicLink() }
  })
  if (entries.length === 0) return nothingShown
  const rest = entries.filter(({ isLink, shown }) => !isLink && shown.covers === undefined)
  const inside = entries.flatMap(({ isLink, shown }) => (isLink ? [] : (shown.covers ?? [])))
  const single = entries.flatMap(({ isLink, path, shown }): ReadonlyArray<Mount> =>
    isLink && shown.covers !== undefined ? [{ kind: "link", path, target: readlinkSync(path) }] : shown.mounts
  )
  if (rest.length === 0) return shownBut(folder, inside)
  // Parts of an entry next to one that is not shown: the folder is no tree of tools, and more may be made in it later.
  const isApart = inside.length > 0 || rest.some(({ shown }) => shown.mounts.length > 0)
  return isApart || rest.length >= single.length
    ? { mounts: single, covers: undefined }
    : shownBut(
        folder,
        rest.map(({ path }) => coverOf(path))
      )
}
