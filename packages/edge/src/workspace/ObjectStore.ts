/**
 * Check of an object store that git would read: all that git opens there is regular. A store of a workspace is untrusted.
 *
 * Does not: check the content of objects.
 */
import { type Dirent, lstatSync, statSync } from "node:fs"
import { isAbsolute, join } from "node:path"
import { folderEntries } from "./FolderEntries.ts"
import { smallFile } from "./SmallFile.ts"

/** As deep as git follows stores that a store names. */
const MAX_DEPTH = 5
const MAX_NAMES = 200_000

const isRegular = (entry: Dirent): boolean => {
  if (!entry.isSymbolicLink()) return entry.isFile() || entry.isDirectory()
  try {
    return statSync(join(entry.parentPath, entry.name)).isFile()
  } catch {
    return true
  }
}

const isLoose = /^[0-9a-f]{2}$/

/** Folders of a store whose entries git opens. Loose objects only if `isThorough`: there may be many. */
const openedFolders = (objects: string, isThorough: boolean): ReadonlyArray<string> => [
  join(objects, "info"),
  join(objects, "info", "commit-graphs"),
  join(objects, "pack"),
  ...(isThorough
    ? folderEntries(objects).flatMap(({ name }) => (isLoose.test(name) ? [join(objects, name)] : []))
    : [])
]

/** Stores that a store names; `undefined` if the list cannot be read. */
const namedStores = (objects: string): ReadonlyArray<string> | undefined => {
  const file = join(objects, "info", "alternates")
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return []
  return smallFile(file)
    ?.split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => (isAbsolute(line) ? line : join(objects, line)))
}

/** Whether git can read the store without waiting. A thorough check reads the names of all objects. */
export const isReadableStore = (objects: string, isThorough: boolean): boolean => {
  let level: ReadonlyArray<string> = [objects]
  let names = 0
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++) {
    const next: Array<string> = []
    for (const store of level) {
      const entries = openedFolders(store, isThorough).flatMap(folderEntries)
      names += entries.length + 1
      if (names > MAX_NAMES || !entries.every(isRegular)) return false
      const named = namedStores(store)
      if (named === undefined) return false
      next.push(...named)
    }
    level = next
  }
  return true
}
