/**
 * Repositories inside a tree, as parts of it. git records only the commit of such a repository, unless its index already has a file in that
 * folder: then the folder is one like any other. So each gets an entry that is no file, which git removes when it has read the folder.
 *
 * Guarantees: git never runs inside an inner repository, where its settings would count.
 */
import { FILE_MODE, type IndexEntry, entryMode, plainEntry, REPOSITORY_MODE } from "./IndexFile.ts"

/** The empty file. */
const EMPTY = Buffer.from("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "hex")
/** A name that no file has by accident. */
const NO_FILE = Buffer.from("/\u0001corral")

const isInner = (entry: IndexEntry): boolean => entryMode(entry) === REPOSITORY_MODE

export const innerRepositories = (entries: ReadonlyArray<IndexEntry>): ReadonlyArray<Buffer> =>
  entries.filter(isInner).map(({ path }) => path)

export const withoutInner = (entries: ReadonlyArray<IndexEntry>): ReadonlyArray<IndexEntry> =>
  entries.filter((entry) => !isInner(entry))

/** Entries by which git reads the folders of these repositories. */
export const withInnerFolders = (
  entries: ReadonlyArray<IndexEntry>,
  folders: ReadonlyArray<Buffer>
): ReadonlyArray<IndexEntry> => {
  const names = new Set(folders.map((folder) => folder.toString("latin1")))
  return [
    // A file of that name was there before the folder.
    ...entries.filter((entry) => !isInner(entry) && !names.has(entry.path.toString("latin1"))),
    ...folders.map((folder) => plainEntry(Buffer.concat([folder, NO_FILE]), FILE_MODE, EMPTY))
  ]
}
