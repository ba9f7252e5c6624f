/**
 * Files of a workspace that changed since an instant, by the change time of the file system, which no program can set back. Needs no git, and
 * includes ignored files.
 *
 * Does not: follow links, see deleted files, or read more than `ENTRIES` entries. Of a repository's own folder only hooks and settings count,
 * because git runs these commands later.
 */
import { Effect } from "effect"
import { lstat, readdir } from "node:fs/promises"
import { pathText } from "./PathText.ts"

const ENTRIES = 200_000

const repositoryFolder = /(?:^|\/)\.git$/
/** Rewritten by git commands that only read, so not a change by the run. */
const isBookkeeping = (path: string): boolean =>
  /(?:^|\/)\.git\/(?!hooks(?:\/|$)|config$|info(?:\/|$))/.test(path)

/** Names are text in Latin-1 here: each character is a byte. */
const absolute = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, "latin1")])

const changed = async (root: string, since: bigint): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  let seen = 0
  const folders = [""]
  for (let folder = folders.pop(); folder !== undefined && seen < ENTRIES; folder = folders.pop()) {
    const entries = await readdir(absolute(root, folder), { encoding: "latin1", withFileTypes: true }).catch(
      () => []
    )
    seen += entries.length
    const looked = entries.map(async (entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`
      if (isBookkeeping(path)) return
      if (entry.isDirectory()) return void folders.push(path)
      if (repositoryFolder.test(path)) return
      // The file was deleted after it was listed.
      const stats = await lstat(absolute(root, path), { bigint: true }).catch(() => undefined)
      if (stats !== undefined && stats.ctimeNs > since) found.push(pathText(Buffer.from(path, "latin1")))
    })
    await Promise.all(looked)
  }
  return found
}

/** Changed paths relative to `root`, with `/`. `since` is in nanoseconds of the file system's clock, exclusive. */
export const changedSince = (root: string, since: bigint): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(() => changed(root, since))
