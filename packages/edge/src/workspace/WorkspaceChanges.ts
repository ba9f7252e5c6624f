/**
 * Which files of a workspace changed since an instant, by the time that the file system keeps of each change: no program can set it
 * back. Needs no git and sees ignored files, too.
 *
 * Links are not followed. Of a repository's own folder only hooks and settings are looked at: commands that would run later. What was
 * deleted is not seen, and beyond `ENTRIES` entries it stops looking.
 */
import { Effect } from "effect"
import { lstat, readdir } from "node:fs/promises"
import { join } from "node:path"

const ENTRIES = 200_000

const repositoryFolder = /(?:^|\/)\.git$/
/** Rewritten by reading commands as well: no change of the person's files. */
const isBookkeeping = (path: string): boolean =>
  /(?:^|\/)\.git\/(?!hooks(?:\/|$)|config$|info(?:\/|$))/.test(path)

const changed = async (root: string, since: bigint): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  let seen = 0
  const folders = [""]
  for (let folder = folders.pop(); folder !== undefined && seen < ENTRIES; folder = folders.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    seen += entries.length
    const looked = entries.map(async (entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (isBookkeeping(path)) return
      if (entry.isDirectory()) return void folders.push(path)
      if (repositoryFolder.test(path)) return
      // Gone since it was listed.
      const stats = await lstat(join(root, path), { bigint: true }).catch(() => undefined)
      if (stats !== undefined && stats.ctimeNs > since) found.push(path)
    })
    await Promise.all(looked)
  }
  return found
}

/** Paths relative to `root`, with `/`. `since` is nanoseconds of the file system's own clock; what happened then is not meant. */
export const changedSince = (root: string, since: bigint): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(() => changed(root, since))
