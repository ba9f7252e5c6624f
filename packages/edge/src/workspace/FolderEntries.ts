/** Entries of a folder. */
import { type Dirent, readdirSync } from "node:fs"

/** None if the folder does not exist or cannot be read. */
export const folderEntries = (folder: string): ReadonlyArray<Dirent> => {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
