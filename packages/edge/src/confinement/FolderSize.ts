/** Space that a folder takes on the disk. Links are not followed. */
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"

/** Bound of the work on a folder that a run filled. */
const MAX_ENTRIES = 1_000_000
/** An entry of a folder takes space, too. */
const ENTRY_BYTES = 512
const BLOCK_BYTES = 512

/** In bytes; `Infinity` for a folder with more than a million entries. What cannot be read does not count. */
export const folderSize = async (folder: string): Promise<number> => {
  const folders = [folder]
  let size = 0
  let entries = 0
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    const found = await readdir(at, { withFileTypes: true }).catch(() => [])
    entries += found.length
    if (entries > MAX_ENTRIES) return Number.POSITIVE_INFINITY
    for (const entry of found) {
      const path = join(at, entry.name)
      const stat = await lstat(path).catch(() => undefined)
      size += ENTRY_BYTES + (stat?.blocks ?? 0) * BLOCK_BYTES
      if (entry.isDirectory()) folders.push(path)
    }
  }
  return size
}
